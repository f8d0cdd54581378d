CREATE TABLE actor (
    actor_id INT NOT NULL
    ,first_name STRING(150) NOT NULL
    ,last_name STRING(150) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (actor_id ASC)
    ,FAMILY "primary" (
        actor_id
        ,first_name
        ,last_name
        ,last_update
    )
);

CREATE TABLE address (
    address_id INT NOT NULL
    ,address STRING(150) NOT NULL
    ,address2 STRING(150) NULL
    ,district STRING(20) NOT NULL
    ,city_id INT NOT NULL
    ,postal_code STRING(10) NULL
    ,phone STRING(50) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (address_id ASC)
    ,FAMILY "primary" (
        address_id
        ,address
        ,address2
        ,district
        ,city_id
        ,postal_code
        ,phone
        ,last_update
    )
);

CREATE TABLE category (
    category_id INT NOT NULL
    ,"name" STRING(125) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (category_id ASC)
    ,FAMILY "primary" (
        category_id
        ,"name"
        ,last_update
    )
);

CREATE TABLE city (
    city_id INT NOT NULL
    ,city STRING(50) NOT NULL
    ,country_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (city_id ASC)
    ,FAMILY "primary" (
        city_id
        ,city
        ,country_id
        ,last_update
    )
);

CREATE TABLE country (
    country_id INT NOT NULL
    ,country STRING(150) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (country_id ASC)
    ,FAMILY "primary" (
        country_id
        ,country
        ,last_update
    )
);

CREATE TABLE customer (
    customer_id INT NOT NULL
    ,store_id INT NOT NULL
    ,first_name STRING(45) NOT NULL
    ,last_name STRING(45) NOT NULL
    ,email STRING(100) NULL
    ,address_id INT NOT NULL
    ,create_date DATE NULL
    ,last_update TIMESTAMP NULL DEFAULT now()
    ,active INT NULL
    ,CONSTRAINT "primary" PRIMARY KEY (customer_id ASC)
    ,CONSTRAINT customer_fk_address FOREIGN KEY (address_id) REFERENCES address(address_id)
    ,INDEX customer_address_idx (address_id ASC)
    ,FAMILY "primary" (
        customer_id
        ,store_id
        ,first_name
        ,last_name
        ,email
        ,address_id
        ,create_date
        ,last_update
        ,active
    )
);

CREATE TABLE LANGUAGE (
    language_id INT NOT NULL
    ,"name" STRING(80) NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (language_id ASC)
    ,FAMILY "primary" (
        language_id
        ,"name"
        ,last_update
    )
);

CREATE TABLE film (
    film_id INT NOT NULL
    ,title STRING NOT NULL
    ,description STRING NULL
    ,release_year INT NULL
    ,language_id INT NOT NULL
    ,rental_duration INT
    ,rental_rate INT NULL
    ,length INT NULL
    ,replacement_cost INT NULL
    ,rating STRING NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,FULLTEXT STRING NULL
    ,CONSTRAINT "primary" PRIMARY KEY (film_id ASC)
    ,CONSTRAINT film_fk_language FOREIGN KEY (language_id) REFERENCES LANGUAGE (language_id)
    ,INDEX film_language_id_idx(language_id ASC)
    ,FAMILY "primary" (
        film_id
        ,title
        ,description
        ,release_year
        ,language_id
        ,rental_duration
        ,rental_rate
        ,length
        ,replacement_cost
        ,rating
        ,last_update
        ,FULLTEXT
    )
);

CREATE TABLE film_actor (
    actor_id INT NOT NULL
    ,film_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (
        actor_id ASC
        ,film_id ASC
    )
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
    ,INDEX film_actor_auto_index_fk_film_id_ref_film(film_id ASC)
    ,CONSTRAINT fk_actor_id_ref_actor FOREIGN KEY (actor_id) REFERENCES actor(actor_id)
    ,FAMILY "primary" (
        actor_id
        ,film_id
        ,last_update
    )
);

CREATE TABLE film_category (
    film_id INT NOT NULL
    ,category_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (
        film_id ASC
        ,category_id ASC
    )
    ,CONSTRAINT fk_category_id_ref_category FOREIGN KEY (category_id) REFERENCES category(category_id)
    ,INDEX film_category_auto_index_fk_category_id_ref_category(category_id ASC)
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
    ,FAMILY "primary" (
        film_id
        ,category_id
        ,last_update
    )
);

CREATE TABLE store (
    store_id INT NOT NULL
    ,manager_staff_id INT NOT NULL
    ,address_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (store_id ASC)
    ,CONSTRAINT fk_address_id_ref_address FOREIGN KEY (address_id) REFERENCES address(address_id)
    ,INDEX store_auto_index_fk_address_id_ref_address(address_id ASC)
    ,FAMILY "primary" (
        store_id
        ,manager_staff_id
        ,address_id
        ,last_update
    )
);

CREATE TABLE inventory (
    inventory_id INT NOT NULL
    ,film_id INT NOT NULL
    ,store_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (inventory_id ASC)
    ,CONSTRAINT fk_film_id_ref_film FOREIGN KEY (film_id) REFERENCES film(film_id)
    ,INDEX inventory_auto_index_fk_film_id_ref_film(film_id ASC)
    ,CONSTRAINT fk_store_id_ref_store FOREIGN KEY (store_id) REFERENCES store(store_id)
    ,INDEX inventory_auto_index_fk_store_id_ref_store(store_id ASC)
    ,FAMILY "primary" (
        inventory_id
        ,film_id
        ,store_id
        ,last_update
    )
);

CREATE TABLE staff (
    staff_id INT NOT NULL
    ,first_name STRING(45) NOT NULL
    ,last_name STRING(45) NOT NULL
    ,address_id INT NOT NULL
    ,email STRING(100) NULL
    ,store_id INT NOT NULL
    ,username STRING(50) NOT NULL
    ,password STRING(40) NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (staff_id ASC)
    ,CONSTRAINT fk_address_id_ref_address FOREIGN KEY (address_id) REFERENCES address(address_id)
    ,INDEX staff_auto_index_fk_address_id_ref_address(address_id ASC)
    ,CONSTRAINT fk_store_id_ref_store FOREIGN KEY (store_id) REFERENCES store(store_id)
    ,INDEX staff_auto_index_fk_store_id_ref_store(store_id ASC)
    ,FAMILY "primary" (
        staff_id
        ,first_name
        ,last_name
        ,address_id
        ,email
        ,store_id
        ,username
        ,password
        ,last_update
    )
);

CREATE TABLE rental (
    rental_id INT NOT NULL
    ,rental_date TIMESTAMP NOT NULL
    ,inventory_id INT NOT NULL
    ,customer_id INT NOT NULL
    ,return_date TIMESTAMP NULL
    ,staff_id INT NOT NULL
    ,last_update TIMESTAMP NOT NULL DEFAULT now()
    ,CONSTRAINT "primary" PRIMARY KEY (rental_id ASC)
    ,CONSTRAINT fk_inventory_id_ref_inventory FOREIGN KEY (inventory_id) REFERENCES inventory (inventory_id)
    ,INDEX rental_auto_index_fk_inventory_id_ref_inventory (inventory_id ASC)
    ,CONSTRAINT fk_customer_id_ref_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id)
    ,INDEX rental_auto_index_fk_customer_id_ref_customer (customer_id ASC)
    ,CONSTRAINT fk_staff_id_ref_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id)
    ,INDEX rental_auto_index_fk_staff_id_ref_staff (staff_id ASC)
    ,FAMILY "primary" (
        rental_id
        ,rental_date
        ,inventory_id
        ,customer_id
        ,return_date
        ,staff_id
        ,last_update
    )
);

CREATE TABLE payment (
    payment_id INT NOT NULL
    ,customer_id INT NOT NULL
    ,staff_id INT NOT NULL
    ,rental_id INT NOT NULL
    ,amount INT NOT NULL
    ,payment_date TIMESTAMP NOT NULL
    ,CONSTRAINT "primary" PRIMARY KEY (payment_id ASC)
    ,CONSTRAINT fk_customer_id_ref_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id)
    ,INDEX payment_auto_index_fk_customer_id_ref_customer (customer_id ASC)
    ,CONSTRAINT fk_staff_id_ref_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id)
    ,INDEX payment_auto_index_fk_staff_id_ref_staff (staff_id ASC)
    ,CONSTRAINT fk_rental_id_ref_rental FOREIGN KEY (rental_id) REFERENCES rental (rental_id)
    ,INDEX payment_auto_index_fk_rental_id_ref_rental (rental_id ASC)
    ,FAMILY "primary" (
        payment_id
        ,customer_id
        ,staff_id
        ,rental_id
        ,amount
        ,payment_date
    )
);
