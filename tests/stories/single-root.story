# One tree per topic: a publisher sends to the root, the root down the tree; forwarders pass on what they do not want.
nodes 8 overlay=single-root ordering=causal
standing news 1 2 7
publish 1 news hello
settle
----
1 deliver 1:1@news "hello"
1 -> 2 ROOT 1:1@news
2 -> 0 PUB 1:1@news
2 -> 6 PUB 1:1@news
2 deliver 1:1@news "hello"
0 -> 1 PUB 1:1@news
6 -> 7 PUB 1:1@news
1 skip 1:1@news
7 deliver 1:1@news "hello"

subscribe 4 news
settle
----
4 -> 6 SUB 4:-1@news
6 -> 2 SUB 4:-1@news
2 -> 6 ACK 4:-1@news
6 -> 4 ACK 4:-1@news
4 confirm news

publish 7 news again
settle
----
7 spread 7:1@news following 1
7 deliver 7:1@news "again"
7 -> 2 ROOT 7:1@news
2 -> 0 PUB 7:1@news
2 -> 6 PUB 7:1@news
2 deliver 7:1@news "again"
0 -> 1 PUB 7:1@news
6 -> 7 PUB 7:1@news
6 -> 4 PUB 7:1@news
1 deliver 7:1@news "again"
4 deliver 7:1@news "again"
7 skip 7:1@news

unsubscribe 7 news
settle
----
7 -> 6 UNS 7:-1@news
