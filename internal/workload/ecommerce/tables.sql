CREATE TABLE products (
    product_id INT PRIMARY KEY,
    name VARCHAR(100) NOT NULL,
    category VARCHAR(40) NOT NULL,
    price NUMERIC(10, 2) NOT NULL CHECK (price > 0),
    stock INT NOT NULL CHECK (stock >= 0),
    reorder_level INT NOT NULL,
    added DATE NOT NULL
);
CREATE INDEX products_category_idx ON products (category, price);

CREATE TABLE customers (
    customer_id INT PRIMARY KEY,
    name VARCHAR(100) NOT NULL,
    email VARCHAR(120) NOT NULL UNIQUE,
    region VARCHAR(40) NOT NULL,
    joined DATE NOT NULL
);

CREATE TABLE sales (
    sale_id INT PRIMARY KEY,
    product_id INT NOT NULL REFERENCES products,
    customer_id INT NOT NULL REFERENCES customers,
    quantity INT NOT NULL CHECK (quantity > 0),
    amount NUMERIC(12, 2) NOT NULL,
    sold_at TIMESTAMP NOT NULL
);
CREATE INDEX sales_product_idx ON sales (product_id, sold_at);
CREATE INDEX sales_customer_idx ON sales (customer_id);
CREATE INDEX sales_time_idx ON sales (sold_at);
