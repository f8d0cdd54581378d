CREATE INDEX ON city (country_id);
ALTER TABLE city ADD CONSTRAINT city_fk_country FOREIGN KEY (country_id) REFERENCES country (country_id);

CREATE INDEX ON address (city_id);
ALTER TABLE address ADD CONSTRAINT city_fk_address FOREIGN KEY (city_id) REFERENCES city (city_id);

CREATE INDEX ON "store" (manager_staff_id);
ALTER TABLE store ADD CONSTRAINT store_fk_manStaffID FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id);
