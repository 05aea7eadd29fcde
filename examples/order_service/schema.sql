-- SPDX-License-Identifier: MIT
-- The tables of order_service. `fence` is the token of the last holder that changed the row. No
-- constraint forbids a second charge, shipment or closing: only the locks do, and the drill counts.
-- Keep your unique constraints: a lock saves work, and a constraint states a fact.
CREATE TABLE stock (item text PRIMARY KEY, quantity integer NOT NULL, initial integer NOT NULL);
CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text NOT NULL,
  item text NOT NULL,
  quantity integer NOT NULL,
  run integer NOT NULL,
  state text NOT NULL DEFAULT 'charged',
  fence bigint NOT NULL DEFAULT 0
);
CREATE INDEX orders_of_an_item ON orders (item);
CREATE TABLE charges (order_id bigint NOT NULL, amount integer NOT NULL);
CREATE TABLE shipments (order_id bigint NOT NULL, token bigint NOT NULL);
CREATE TABLE accounts (id text PRIMARY KEY, balance integer NOT NULL, initial integer NOT NULL);
CREATE TABLE transfers (debtor text NOT NULL, creditor text NOT NULL, amount integer NOT NULL);
CREATE TABLE closed_days (day text NOT NULL, orders bigint NOT NULL);
