"""What happened, only added to, and what follows from it: open leases, held devices, charges.

All SQL of the product is in this package. It decides nothing and reads no clock.
"""
