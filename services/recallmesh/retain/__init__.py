"""The retain service: takes in what a bank is told, and sees to it that every arm gets it."""
