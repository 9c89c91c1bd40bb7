; `port 22` on Ethernet: TCP, UDP and SCTP, over IPv4 and IPv6.
        ldh  [12]                   ; the protocol
        jeq  #0x86dd, next, ipv4
        ldb  [20]                   ; the next header
        jeq  #132, ports6, next
        jeq  #6, ports6, next
        jeq  #17, ports6, drop
ports6: ldh  [54]
        jeq  #22, keep, next
        ldh  [56]
        jeq  #22, keep, drop
ipv4:   jeq  #0x800, next, drop
        ldb  [23]
        jeq  #132, first, next
        jeq  #6, first, next
        jeq  #17, first, drop
first:  ldh  [20]                   ; only the first fragment has ports
        jset #0x1fff, drop, next
        ldxb 4*([14]&0xf)
        ldh  [x + 14]
        jeq  #22, keep, next
        ldh  [x + 16]
        jeq  #22, keep, drop
keep:   ret  #0x40000
drop:   ret  #0
