"""What is held of many memories in arrays: for stores that search a bank in memory."""
