// What is appended.

/** About 110 bytes of JSON. */
export const payload = (n) => ({ order: n, customer: 'customer-1234', total: 12.5, items: ['apple', 'pear', 'plum'], note: 'ring twice' })
export const hundred = Array.from({ length: 100 }, (_, n) => payload(100_000 + n))
