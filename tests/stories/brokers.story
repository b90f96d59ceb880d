# Brokers form the tree, subscribers hang on them.
nodes 8 overlay=brokers ordering=fifo
standing news 1 2 7
publish 1 news hello
settle
----
1 deliver 1:1@news "hello"
1 -> 2 ROOT 1:1@news
2 -> 3 PUB 1:1@news
2 -> 0 PUB 1:1@news
2 -> 6 PUB 1:1@news
2 deliver 1:1@news "hello"
0 -> 1 PUB 1:1@news
6 -> 7 PUB 1:1@news
6 -> 4 PUB 1:1@news
1 skip 1:1@news
4 -> 5 PUB 1:1@news
7 deliver 1:1@news "hello"
