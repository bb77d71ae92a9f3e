"""Defining tools: the decorator, schemas from signatures, collections, and the forms that providers take."""
