# T2, printed. Node 1 asks for a timestamp, and dies before it publishes. Number 1 is nobody's: b waits for ever.
nodes 4 overlay=vcube ordering=total-printed desks=1
standing t 1 2 3
publish 1 t a
carry 1 -> 0
crash 1
----
1 -> 0 ASK 1:1@t
0 -> 1 STAMP 1:1@t {t:1}

publish 2 t b
settle
----
2 -> 0 ASK 2:1@t
0 -> 2 STAMP 2:1@t {t:2}
2 spread 2:1@t following 1
2 -> 3 PUB 2:1@t
3 -> 2 ACK 2:1@t
2 settle 2:1@t
