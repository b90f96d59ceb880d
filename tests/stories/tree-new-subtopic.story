# Node 1 reads .news. Node 0 begins .news.sport, of which nobody has ever heard: its SUB finds 1, which takes part from
# then on. Nothing can have been said there before, so 1 has no cut: whatever is said comes to it, and none is skipped.
nodes 2 overlay=vcube ordering=causal
standing .news 1
subscribe 0 .news.sport
publish 0 .news.sport a
carry 0 -> 1
----
0 -> 1 SUB 0:-1@.news.sport
1 -> 0 SUB 1:-1@.news.sport
1 -> 0 ACK 0:-1@.news.sport

carry 1 -> 0
----
0 -> 1 ACK 1:-1@.news.sport

carry 0 -> 1
----
1 -> 0 CUT 1:-2@.news.sport

settle
----
0 -> 1 CUT 0:-2@.news.sport
0 -> 1 ACK 1:-2@.news.sport
1 -> 0 ACK 0:-2@.news.sport
0 confirm .news.sport
0 deliver 0:1@.news.sport "a"
0 -> 1 PUB 0:1@.news.sport
1 -> 0 ACK 0:1@.news.sport
1 deliver 0:1@.news.sport "a"
0 settle 0:1@.news.sport
