"""What clients of models at another address share: when to ask again, what a refusal means, how much at once."""
