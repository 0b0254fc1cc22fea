"""The reranker: reads a query and a text together and scores how well the one answers the other."""
