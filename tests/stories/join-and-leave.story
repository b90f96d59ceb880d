# A joiner tells everybody (SUB), then asks the members what they have delivered (CUT), and is confirmed.
nodes 4 overlay=vcube ordering=causal
standing news 0 1
publish 0 news before
settle
----
0 deliver 0:1@news "before"
0 -> 1 PUB 0:1@news
1 -> 0 ACK 0:1@news
1 deliver 0:1@news "before"
0 settle 0:1@news

subscribe 3 news
settle
----
3 -> 2 SUB 3:-1@news
3 -> 1 SUB 3:-1@news
1 -> 0 SUB 3:-1@news
2 -> 3 ACK 3:-1@news
0 -> 1 ACK 3:-1@news
1 -> 3 ACK 3:-1@news
3 -> 1 CUT 3:-2@news
1 -> 0 CUT 3:-2@news
0 -> 1 ACK 3:-2@news
1 -> 3 ACK 3:-2@news
3 confirm news

publish 3 news hello
settle
----
3 deliver 3:1@news "hello"
3 -> 1 PUB 3:1@news
1 -> 0 PUB 3:1@news
1 deliver 3:1@news "hello"
0 -> 1 ACK 3:1@news
0 deliver 3:1@news "hello"
1 -> 3 ACK 3:1@news
3 settle 3:1@news

# It leaves: its own messages are settled, so it says so at once (UNS) and is out when all members know.
unsubscribe 3 news
settle
----
3 -> 1 UNS 3:-3@news
1 -> 0 UNS 3:-3@news
0 -> 1 ACK 3:-3@news
1 -> 3 ACK 3:-3@news

publish 0 news after
settle
----
0 spread 0:2@news following 2
0 deliver 0:2@news "after"
0 -> 1 PUB 0:2@news
1 -> 0 ACK 0:2@news
1 deliver 0:2@news "after"
0 settle 0:2@news
