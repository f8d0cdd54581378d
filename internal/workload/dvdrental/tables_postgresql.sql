CREATE TABLE actor (
    actor_id INT NOT NULL
    ,first_name VARCHAR(150) NOT NULL
    ,last_name VARCHAR(150) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (actor_id)
);

CREATE TABLE address (
    address_id INT NOT NULL
    ,address VARCHAR(150) NOT NULL
    ,address2 VARCHAR(150) NULL
    ,district VARCHAR(20) NOT NULL
    ,city_id INT NOT NULL
    ,postal_code VARCHAR(10) NULL
    ,phone VARCHAR(50) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (address_id)
);

CREATE TABLE category (
    category_id INT NOT NULL
    ,"name" VARCHAR(125) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (category_id)
);

CREATE TABLE city (
    city_id INT NOT NULL
    ,city VARCHAR(50) NOT NULL
    ,country_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (city_id)
);

CREATE TABLE country (
    country_id INT NOT NULL
    ,country VARCHAR(150) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (country_id)
);

CREATE TABLE customer (
    customer_id INT NOT NULL
    ,store_id INT NOT NULL
    ,first_name VARCHAR(45) NOT NULL
    ,last_name VARCHAR(45) NOT NULL
    ,email VARCHAR(100) NULL
    ,address_id INT NOT NULL
    ,create_date DATE NULL
    ,last_update TIMESTAMP NULL DEFAULT now()
    ,active INT NULL
    ,PRIMARY KEY (customer_id)
    ,CONSTRAINT customer_fk_address FOREIGN KEY (address_id) REFERENCES address(address_id)
);
CREATE INDEX customer_address_idx ON customer (address_id);

CREATE TABLE LANGUAGE (
    language_id INT NOT NULL
    ,"name" VARCHAR(80) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (language_id)
);

CREATE TABLE film (
    film_id INT NOT NULL
    ,title TEXT NOT NULL
    ,description TEXT NULL
    ,release_year INT NULL
    ,language_id INT NOT NULL
    ,rental_duration INT
    ,rental_rate INT NULL
    ,length INT NULL
    ,replacement_cost INT NULL
    ,rating TEXT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,FULLTEXT TEXT NULL
    ,PRIMARY KEY (film_id)
    ,CONSTRAINT film_fk_language FOREIGN KEY (language_id) REFERENCES LANGUAGE (language_id)
);
CREATE INDEX film_language_id_idx ON film (language_id);

CREATE TABLE film_actor (
    actor_id INT NOT NULL
    ,film_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (
        actor_id
        ,film_id
    )
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
    ,CONSTRAINT fk_actor_id_ref_actor FOREIGN KEY (actor_id) REFERENCES actor(actor_id)
);
CREATE INDEX film_actor_auto_index_fk_film_id_ref_film ON film_actor (film_id);

CREATE TABLE film_category (
    film_id INT NOT NULL
    ,category_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (
        film_id
        ,category_id
    )
    ,CONSTRAINT fk_category_id_ref_category FOREIGN KEY (category_id) REFERENCES category(category_id)
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
);
CREATE INDEX film_category_auto_index_fk_category_id_ref_category ON film_category (category_id);

CREATE TABLE store (
    store_id INT NOT NULL
    ,manager_staff_id INT NOT NULL
    ,address_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (store_id)
    ,CONSTRAINT fk_address_id_ref_address FOREIGN KEY (address_id) REFERENCES address(address_id)
);
CREATE INDEX store_auto_index_fk_address_id_ref_address ON store (address_id);

CREATE TABLE inventory (
    inventory_id INT NOT NULL
    ,film_id INT NOT NULL
    ,store_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (inventory_id)
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
    ,CONSTRAINT fk_store_id_ref_store FOREIGN KEY (store_id) REFERENCES store(store_id)
);
CREATE INDEX inventory_auto_index_fk_film_id_ref_film ON inventory (film_id);
CREATE INDEX inventory_auto_index_fk_store_id_ref_store ON inventory (store_id);

CREATE TABLE staff (
    staff_id INT NOT NULL
    ,first_name VARCHAR(45) NOT NULL
    ,last_name VARCHAR(45) NOT NULL
    ,address_id INT NOT NULL
    ,email VARCHAR(100) NULL
    ,store_id INT NOT NULL
    ,username VARCHAR(50) NOT NULL
    ,password VARCHAR(40) NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (staff_id)
    ,CONSTRAINT fk_address_id_ref_address FOREIGN KEY (address_id) REFERENCES address(address_id)
    ,CONSTRAINT fk_store_id_ref_store FOREIGN KEY (store_id) REFERENCES store(store_id)
);
CREATE INDEX staff_auto_index_fk_address_id_ref_address ON staff (address_id);
CREATE INDEX staff_auto_index_fk_store_id_ref_store ON staff (store_id);

CREATE TABLE rental (
    rental_id INT NOT NULL
    ,rental_date TIMESTAMP NOT NULL
    ,inventory_id INT NOT NULL
    ,customer_id INT NOT NULL
    ,return_date TIMESTAMP NULL
    ,staff_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,PRIMARY KEY (rental_id)
    ,CONSTRAINT fk_inventory_id_ref_inventory FOREIGN KEY (inventory_id) REFERENCES inventory (inventory_id)
    ,CONSTRAINT fk_customer_id_ref_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id)
    ,CONSTRAINT fk_staff_id_ref_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id)
);
CREATE INDEX rental_auto_index_fk_inventory_id_ref_inventory ON rental (inventory_id);
CREATE INDEX rental_auto_index_fk_customer_id_ref_customer ON rental (customer_id);
CREATE INDEX rental_auto_index_fk_staff_id_ref_staff ON rental (staff_id);

CREATE TABLE payment (
    payment_id INT NOT NULL
    ,customer_id INT NOT NULL
    ,staff_id INT NOT NULL
    ,rental_id INT NOT NULL
    ,amount INT NOT NULL
    ,payment_date TIMESTAMP NOT NULL
    ,PRIMARY KEY (payment_id)
    ,CONSTRAINT fk_customer_id_ref_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id)
    ,CONSTRAINT fk_staff_id_ref_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id)
    ,CONSTRAINT fk_rental_id_ref_rental FOREIGN KEY (rental_id) REFERENCES rental (rental_id)
);
CREATE INDEX payment_auto_index_fk_customer_id_ref_customer ON payment (customer_id);
CREATE INDEX payment_auto_index_fk_staff_id_ref_staff ON payment (staff_id);
CREATE INDEX payment_auto_index_fk_rental_id_ref_rental ON payment (rental_id);
