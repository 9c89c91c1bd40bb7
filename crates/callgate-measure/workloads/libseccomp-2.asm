; Two allowed calls, in the form that libseccomp gives a list.
        ld   arch
        jeq  #AUDIT_ARCH_X86_64, next, bad
        ld   nr
        jge  #0x40000000, next, native
        jeq  #0xffffffff, native, bad
native: jeq  #0, allow, next
        jeq  #1, allow, refuse
refuse: ret  ERRNO(EPERM)
allow:  ret  ALLOW
bad:    ret  KILL_THREAD
