//! Statements that use the array `filter` of a random text.

/// Functions that they call.
pub(super) const HELPERS: &str = "static void patch(struct sock_filter *p)
{
	p->k ^= 1;
}
static void patch_at(int number, struct sock_filter p[])
{
	p[number].jf++;
}
static void patch_program(struct sock_fprog *p)
{
	p->filter[0].jt ^= 3;
}
static int look(const struct sock_filter *p, int number)
{
	return p[number].k == 3;
}
static unsigned length(struct sock_fprog *p)
{
	return p->len;
}
#define SET(array, value) ((array)[0].k = (value))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
";

/// Statements that change it.
pub(super) const STORES: &[&str] = &[
    "filter[0].k ^= 1;",
    "filter[COUNT(filter) - 1].k ^= 1;",
    "filter[0].k++;",
    "--filter[0].k;",
    "filter->jt++;",
    "++filter->jf;",
    "(*filter).k <<= 1;",
    "(filter + 0)->k |= 64;",
    "0[filter].code |= 0x100;",
    "((unsigned char *)filter)[5] ^= 9;",
    "*(unsigned *)&filter[0].k = 5;",
    "*((unsigned char *)filter + 4) ^= 1;",
    "*(unsigned long long *)filter = 7;",
    "SET(filter, 12);",
    "unsigned *at = &filter->k; *at += 2;",
    "unsigned char *at = (unsigned char *)&filter[0]; at[2] ^= 1;",
    "struct sock_filter one = filter[0]; one.k++; filter[0] = one;",
    "struct sock_filter one = *filter; one.jt += 2; *filter = one;",
    "struct sock_filter *p = filter; p->jt++;",
    "struct sock_filter *p; p = &filter[0]; (*p).k = 9;",
    "struct sock_filter *p = filter, *q = p; q->k = 10;",
    "struct sock_filter *p = filter; struct sock_filter **q = &p; (*q)->k = 1;",
    "struct sock_filter (*all)[1] = (void *)&filter; (*all)[0].k = 3;",
    "struct sock_filter *list[1]; list[0] = filter; list[0]->k = 3;",
    "struct { struct sock_filter *p; } s; s.p = filter; s.p->k = 3;",
    "struct { int n; struct sock_filter *p; } s = { .p = filter, .n = 1 }; s.p[0].k = 3;",
    "for (struct sock_filter *p = filter; p < filter + 1; p++) p->k = 2;",
    "struct sock_filter one = { .k = 5 }; if (filter[0].k != 5) filter[0] = one;",
    "struct sock_filter one = { .k = 5 }; if (filter[0].k != 5) *filter = one; else filter->k = 6;",
    "__builtin_memset(filter, 1, sizeof(filter[0]));",
    "unsigned x = 3; __builtin_memcpy(&filter[0].k, &x, sizeof x);",
    "unsigned x = 3; __builtin_memmove((char *)filter + 4, &x, sizeof x);",
    "patch(filter);",
    "patch(&filter[0]);",
    "patch((struct sock_filter *)(void *)filter);",
    "(patch)(filter);",
    "void (*f)(struct sock_filter *) = patch; f(filter);",
    "patch_at(0, filter);",
    "patch_at(COUNT(filter) - 1, filter);",
    "struct sock_fprog p = { 1, filter }; p.filter->k = 4;",
    "struct sock_fprog p = { .filter = filter }; p.filter[0].k--;",
    "struct sock_fprog p; p.filter = filter; patch(p.filter);",
    "struct sock_fprog p = { COUNT(filter), filter }; patch_program(&p);",
    "struct sock_fprog p = { COUNT(filter), filter }, *q = &p; patch_program(q);",
    "struct sock_fprog p = { COUNT(filter), filter }, q = p; q.filter->k = 8;",
    "unsigned long long at = (unsigned long)filter; ((struct sock_filter *)at)->k = 8;",
    "__asm__ volatile(\"\" : \"=m\"(filter[0]) : \"m\"(filter[0])); filter->k = 4;",
];

/// Statements that do not.
pub(super) const READS: &[&str] = &[
    "(void)filter;",
    "unsigned x = filter[0].k + 1; (void)x;",
    "unsigned x = COUNT(filter) + sizeof filter + sizeof(*filter); (void)x;",
    "struct sock_filter one = filter[0]; (void)one;",
    "if (filter[0].k == 5 && filter->jt) (void)filter[0].k;",
    "struct sock_fprog p = { COUNT(filter), filter }; (void)length(&p);",
    "struct sock_fprog p = { .len = COUNT(filter), .filter = filter }; (void)p;",
    "struct sock_fprog p; p.len = COUNT(filter); p.filter = (struct sock_filter *)filter; (void)length(&p);",
    "(void)look(filter, 0);",
    "(void)look(&filter[0], 0);",
    "const struct sock_filter *p = filter; (void)p->k;",
    "for (unsigned x = 0; x < COUNT(filter); x++) (void)look(filter, x);",
];
