#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes orders.csv: the submissions that an order service gets in a busy hour.

usage: make_orders.py > orders.csv

Customers click twice, browsers and gateways repeat a request that was slow: of 2,000 orders 900 are
submitted twice and 50 three times, the copies a few lines apart. Some customers order often. Only
random() of a fixed seed is used, whose numbers are the same in every version of Python.
"""
import random
import sys

ORDERS, TWICE, THRICE, CUSTOMERS = 2000, 900, 50, 150
PRICES = (499, 799, 990, 1290, 1499, 1995, 2450, 2999, 3990, 4995, 7900, 12900, 19900)
SHIPPING, FREE_SHIPPING_FROM = 495, 5000


def amount(rng):
    """One to four articles, and shipping for small orders."""
    total = sum(PRICES[int(len(PRICES) * rng.random() ** 1.6)] for _ in range(1 + int(4 * rng.random())))
    return total if total >= FREE_SHIPPING_FROM else total + SHIPPING


def submissions(rng):
    """Pairs of (moment, line), a moment being the place of the order in the hour."""
    copies = [3] * THRICE + [2] * TWICE + [1] * (ORDERS - TWICE - THRICE)
    # Fisher and Yates, by hand: shuffle() draws differently from version to version.
    for i in range(len(copies) - 1, 0, -1):
        j = int((i + 1) * rng.random())
        copies[i], copies[j] = copies[j], copies[i]
    number = 117
    for place, count in enumerate(copies):
        number += 1 + (rng.random() < 0.06)  # now and then a cart is given up, its number with it
        customer = 1001 + 7 * int(CUSTOMERS * rng.random() ** 1.5)
        line = f"A-2026-{number:06d},C-{customer},{amount(rng)}"
        for copy in range(count):
            yield place + copy * (0.2 + 3 * rng.random()), line


def main():
    rng = random.Random(2026)
    sys.stdout.write("order,customer,amount_cents\n")
    for _, line in sorted(submissions(rng)):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
