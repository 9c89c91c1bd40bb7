; Port 22 over IPv4 and TCP, packets that carry data: the length of the packet less that of
; the IP header is not that of the TCP header.
        ldh  [12]
        jeq  #0x86dd, drop, next
        jeq  #0x800, next, drop
        ldb  [23]
        jeq  #6, next, drop
        ldh  [20]
        jset #0x1fff, drop, next
        ldxb 4*([14]&0xf)
        ldh  [x + 14]
        jeq  #22, length, next
        ldh  [x + 16]
        jeq  #22, length, drop
length: ldh  [16]
        st   M[1]
        ldb  [14]
        and  #0xf
        lsh  #2
        tax
        ld   M[1]
        sub  x
        st   M[5]
        ldxb 4*([14]&0xf)
        ldb  [x + 26]
        and  #0xf0
        rsh  #2
        tax
        ld   M[5]
        jeq  x, drop, next
        ret  #0x40000
drop:   ret  #0
