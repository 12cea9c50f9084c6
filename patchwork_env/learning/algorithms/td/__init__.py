"""Temporal-difference learning of compiled values of Patchwork (``td``) and NMBR 9 (``solo_td``)."""
