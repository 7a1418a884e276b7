"""Programs of the chapters of D's manual, with the output that the manual says: the same on both engines."""

import pytest
from support.command.command import sonde

PROGRAMS = [
    (('BEGIN { @=min(5);@=min(-3);printa("%@d\\n",@);trunc(@);exit(0); }'), "-3\n"),
    (('BEGIN { @=max(5);@=max(-3);printa("<%@5d>\\n",@);trunc(@);exit(0); }'), "<    5>\n"),
    (('BEGIN { @=stddev(10);@=stddev(20);printa("%@d\\n",@);trunc(@);exit(0); }'), "5\n"),
    (
        ('BEGIN { @[1]=sum(3);@[2]=sum(1);@[3]=sum(2);trunc(@,2);printa("%d %@d\\n",@);trunc(@);exit(0); }'),
        "3 2\n1 3\n",
    ),
    (
        ('BEGIN { @[1]=sum(3);@[2]=sum(1);@[3]=sum(2);trunc(@,-2);printa("%d %@d\\n",@);trunc(@);exit(0); }'),
        "2 1\n3 2\n",
    ),
    (
        (
            'BEGIN { @=sum(1000);normalize(@,10);printa("%@d\\n",@);denormalize(@);printa("%@d\\n",@);tru'
            "nc(@);exit(0); }"
        ),
        "100\n1000\n",
    ),
    (
        ('BEGIN { printf("%5d|%-5d|%05d|%+d|%x|%#x|%o|%#o\\n",42,42,42,42,255,255,8,8);exit(0); }'),
        "   42|42   |00042|+42|ff|0xff|10|010\n",
    ),
    (('BEGIN { printf("%s|%10s|%-10s|%.2s\\n","abc","abc","abc","abc");exit(0); }'), "abc|       abc|abc       |ab\n"),
    (('BEGIN { printf("%c%c %C %S\\n",65,10,9,"a\\tb\\n\\001");exit(0); }'), "A\n \\t a\\tb\\n\\001\n"),
    (('BEGIN { printf("%*d|%-*d|%.*s\\n",5,1,5,2,2,"abc");exit(0); }'), "    1|2    |ab\n"),
    (('BEGIN { printf("%d %u %d\\n",(char)200,(unsigned char)200,(short)70000);exit(0); }'), "-56 200 4464\n"),
    (('BEGIN { printf("%d%%\\n",5);exit(0); }'), "5%\n"),
    (('BEGIN { printf("%p %x\\n",(void*)0x1234,-1);exit(0); }'), "1234 ffffffff\n"),
    (('BEGIN { printf("%i %X %llx\\n",-1,0xabc,(int64_t)-1);exit(0); }'), "-1 ABC ffffffffffffffff\n"),
    (('BEGIN { trace("a");trace(1);trace("b");exit(0); }'), "a1b"),
    (
        ('BEGIN { printf("%s %s %s\\n",basename("/a/b/c"),dirname("/a/b/c"),cleanpath("/a/./b/../c//d"));exit(0); }'),
        "c /a/b /a/c/d\n",
    ),
    (('BEGIN { printf("%s %s %s %s\\n",basename("/"),dirname("/"),basename(""),dirname("x"));exit(0); }'), "/ / . .\n"),
    (
        (
            'BEGIN { printf("%d %d %d %d\\n",index("abcabc","c"),rindex("abcabc","c"),index("abc","z"),i'
            'ndex("abcabc","c",3));exit(0); }'
        ),
        "2 5 -1 5\n",
    ),
    (
        (
            'BEGIN { printf("%s|%s|%s|%s\\n",substr("abcdef",2),substr("abcdef",1,3),substr("abcdef",-2)'
            ',substr("abcdef",-4,2));exit(0); }'
        ),
        "cdef|bcd|ef|cd\n",
    ),
    (('BEGIN { printf("%s|%s|%s\\n",strtok("a,b;c",",;"),strtok(NULL,",;"),strtok(NULL,",;"));exit(0); }'), "a|b|c\n"),
    (
        ('BEGIN { printf("%s|%s|%s\\n",strchr("abcb",98),strrchr("abcb",98),strstr("hello","ll"));exit(0); }'),
        "bcb|b|llo\n",
    ),
    (('BEGIN { printf("%s %d\\n",strjoin("ab","cd"),strlen("hello"));exit(0); }'), "abcd 5\n"),
    (('BEGIN { printf("%s %s\\n",lltostr(-123),lltostr(255,16));exit(0); }'), "-123 0xff\n"),
    (
        ('BEGIN { printf("%x %x %x\\n",htons(0x1234),htonl(0x12345678),ntohs(0x3412));exit(0); }'),
        "3412 78563412 1234\n",
    ),
    (('BEGIN { printf("%s\\n",inet_ntop(2,alloca(4)));exit(0); }'), "0.0.0.0\n"),
    (('BEGIN { printf("%d\\n", "abc" < "abd");exit(0); }'), "1\n"),
    (('BEGIN { printf("%s %s\\n",toupper("aBc1"),tolower("ABc1"));exit(0); }'), "ABC1 abc1\n"),
    (('BEGIN { printf("%d %d %d\\n",strtoll("-12"),strtoll("0x1f",16),strtoll("077",8));exit(0); }'), "-12 31 63\n"),
    (('BEGIN { printf("%s\\n",json("{\\"a\\":{\\"b\\":[1,2,\\"x\\"]}}","a.b[2]"));exit(0); }'), "x\n"),
    (('BEGIN { a[1,"x"]=5;a[1,"y"]=6;printf("%d %d %d\\n",a[1,"x"],a[1,"y"],a[2,"x"]);exit(0); }'), "5 6 0\n"),
    (
        (
            'self int x; this string s; BEGIN { self->x=3;this->s="abc"} BEGIN { printf("%d %s\\n",self-'
            ">x,this->s);exit(0); }"
        ),
        "3 abc\n",
    ),
    (('int n; BEGIN { n++;++n;n+=5;n<<=2;n|=1;n^=3;n%=7;printf("%d\\n",n);exit(0); }'), "2\n"),
    (('BEGIN { x=5;y=x++ + ++x;printf("%d %d\\n",x,y);exit(0); }'), "7 12\n"),
    (('BEGIN { printf("%d %d %d %d\\n",7/2,-7/2,-7%3,1<<4);exit(0); }'), "3 -3 -1 16\n"),
    (('BEGIN { printf("%d %d %d\\n",1&&0,1||0,1^^1);exit(0); }'), "0 1 0\n"),
    (('BEGIN { printf("%s\\n",1>2?"a":"b");exit(0); }'), "b\n"),
    (("BEGIN { printf(\"%d %d\\n\",'a','\\n');exit(0); }"), "97 10\n"),
    (('inline int K=5; inline string S="s"; BEGIN { printf("%d %s\\n",K*2,S);exit(0); }'), "10 s\n"),
    (
        (
            'struct s{int a;char b[4];}; struct s v; BEGIN { v.a=3;v.b[1]=65;printf("%d %c %d\\n",v.a,v.'
            "b[1],sizeof(struct s));exit(0); }"
        ),
        "3 A 8\n",
    ),
    (
        ('union u{int i;char c[4];}; union u v; BEGIN { v.i=0x41424344;printf("%c%c\\n",v.c[0],v.c[3]);exit(0); }'),
        "DA\n",
    ),
    (('enum e{A,B=5,C}; BEGIN { printf("%d %d %d\\n",A,B,C);exit(0); }'), "0 5 6\n"),
    (
        (
            "struct s{int a;}; struct t{int ti;string ts;}; translator struct t<struct s *p>{ti=p->a+1;"
            'ts="tr";}; struct s *q; BEGIN { q=alloca(4);q->a=4;printf("%d %s\\n",xlate<struct t>(q).ti,'
            "xlate<struct t>(q).ts);exit(0); }"
        ),
        "5 tr\n",
    ),
    (('BEGIN { printf("%d %d\\n",offsetof(struct list_head,prev),sizeof(struct list_head));exit(0); }'), "8 16\n"),
    (('BEGIN { s=speculation();} BEGIN { speculate(s);printf("spec\\n");} BEGIN { discard(s);exit(0); }'), ""),
    (('BEGIN { exit(0); } END{printf("bye\\n")}'), "bye\n"),
    (('BEGIN/0/{printf("no\\n")} BEGIN/1/{printf("yes\\n");exit(0); }'), "yes\n"),
    (('BEGIN { self->i=0;while(self->i<3){printf("%d",self->i);self->i++;}exit(0); }'), "012"),
    (('BEGIN { if(1){printf("a")}else{printf("b")}exit(0); }'), "a"),
]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_what_the_manual_says(engine):
    """Each program in a session of its own: in one they would share variables."""
    wrong = {}
    for text, expected in PROGRAMS:
        seen = sonde("--engine", engine, "-qn", text).stdout
        if seen.rstrip("\n") != expected.rstrip("\n"):
            wrong[text] = (expected, seen)
    assert wrong == {}
