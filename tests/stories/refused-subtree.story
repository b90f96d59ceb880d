# Node 4 is first in c(0,3) and leaves. Node 0 has not heard of it and gives it the cluster; node 4 refuses, and the
# next member takes it over.
nodes 8 overlay=vcube ordering=causal
standing t 0 4 5 6
unsubscribe 4 t
----
4 -> 5 UNS 4:-2@t
4 -> 6 UNS 4:-2@t
4 -> 0 UNS 4:-2@t

lose 4 -> 0
publish 0 t kept
carry 0 -> 4
----
0 deliver 0:1@t "kept"
0 -> 4 PUB 0:1@t
4 -> 0 GONE 0:1@t
4 skip 0:1@t

carry 4 -> 0
----
0 -> 5 PUB 0:1@t

settle
----
5 -> 4 PUB 0:1@t
5 -> 6 PUB 0:1@t
5 deliver 0:1@t "kept"
5 -> 4 ACK 4:-2@t
6 -> 4 ACK 4:-2@t
4 -> 5 GONE 0:1@t
4 skip 0:1@t
6 -> 5 ACK 0:1@t
6 deliver 0:1@t "kept"
5 -> 0 ACK 0:1@t
0 settle 0:1@t
