"""The laboratory: rivals, the paper's tables, data sets and surveys around ProtoryNet."""
