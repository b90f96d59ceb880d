# A clear refusal, and the state is as it was.
nodes 4 overlay=vcube ordering=causal
standing news 0 1
publish 2 news hello
----
2 refuses: topic 'news': node 2 has not subscribed; subscribe before you publish

unsubscribe 2 news
----
2 refuses: topic 'news': node 2 has not subscribed; subscribe before you leave it

subscribe 0 news
----
0 refuses: topic 'news': node 0 has subscribed already; unsubscribe first

publish 0 news hello
settle
----
0 deliver 0:1@news "hello"
0 -> 1 PUB 0:1@news
1 -> 0 ACK 0:1@news
1 deliver 0:1@news "hello"
0 settle 0:1@news
