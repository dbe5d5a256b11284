"""Expressions that Hive and Spark evaluate alike, once `hive_views` has translated them.

Every function of its lists is called here. Hive's own answers are the expected values.
"""

from __future__ import annotations

from integration.support.small_tables import ACID

SETUP = f"""
CREATE TABLE raw_values (id int, b boolean, ti tinyint, i int, l bigint, f float, d double,
  de decimal(10,2), dw decimal(38,10), s string, t string, vc varchar(5), ch char(5), da date,
  ts timestamp) {ACID};
INSERT INTO raw_values VALUES
 (1, true, 1, 1, 1, 1.5, 1.5, 1.50, 1.5, 'abc', 'b', 'abc', 'abc', '2024-01-31',
   '2024-01-31 12:34:56'),
 (2, false, -1, -1, -1, -2.5, -2.5, -2.50, -2.5, '', 'b', '', '', '2024-02-29',
   '2024-02-29 23:59:59.999'),
 (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
 (4, true, 127, 2147483647, 9223372036854775807, 3.4e38, 1.7e308, 99999999.99,
   1234567890123456789012345678.0123456789, ' 12 ', '1', 'x y', 'x y', '1969-12-31',
   '1969-12-31 23:59:59'),
 (5, false, -128, -2147483648, -9223372036854775808, 1e-30, 1e-300, -99999999.99,
   -0.0000000001, '-7', '-7', 'a', 'a', '2023-12-31', '2023-12-31 00:00:00'),
 (6, true, 10, 10, 100, 0.5, 0.5, 0.50, 0.5, '1.5', '1.50', '1.5', '1.5', '2024-12-30',
   '2024-12-30 01:02:03.123456'),
 (7, true, 0, 0, 0, 0, 0, 0, 0, '2024-01-31', 'b', '2024-', '2024-', '2000-02-29',
   '2000-02-29 00:00:00'),
 (8, true, 7, 7, 7, 2.5, 2.5, 2.45, 2.5, '2024-02-30', 'x', 'aB', 'aB', '1999-01-01',
   '1999-01-01 10:00:00'),
 (9, false, 3, 3, 12345678901, 3.5, 3.5, 2.55, 3.5, '2024-01-31 12:34:56', 'true', 'true',
   'true', '2021-03-28', '2021-03-28 02:30:00'),
 (10, true, 5, 5, 255, 0.1, 0.1, 0.05, 0.1, 'ünï ✓', 'no', 'ü✓', 'ü✓', '2022-01-02',
   '2022-01-02 00:00:00.001'),
 (11, true, 2, 2, 16, 1e10, 1e10, 1000.00, 1000, 'a,b,,c', ',', 'a,b', 'a,b', '2022-01-03',
   '2022-01-03 13:00:00'),
 (12, true, 2, 12, 4096, 123456.789, 123456.789, 12345.67, 12345.6789, 'k1:v1,k2:v2', 'k1',
   'k1', 'k1', '2020-12-31', '2020-12-31 12:00:00'),
 (13, true, 2, 100, 4096, -0.5, -0.5, -0.55, -0.5, '{{"a":1,"b":{{"c":[1,2]}}}}', '$.a',
   'k1', 'k1', '1582-10-04', '1582-10-04 12:00:00'),
 (14, true, 2, 400, 8, 100, 100, 100.00, 100, 'The quick Brown fox', 'Brown', 'T q', 'T q',
   '2199-12-31', '2199-12-31 23:59:59'),
 (15, true, 2, 2024, 8, 1e7, 1e7, 10.10, 10.10, '99999999999', 'FALSE', '1e3', '1e3',
   '2024-06-15', '2024-06-15 06:07:08'),
 (16, true, 2, 6, 8, 1e-4, 1e-4, 10.10, 10.10, 'http://h.org:80/p/x?q=1&r=2#f', 'HOST',
   '1e3', '1e3', '2024-06-16', '2024-06-16 06:07:08');
CREATE TABLE every_type {ACID} AS SELECT r.*,
  CASE WHEN id % 4 = 3 THEN null ELSE array(id, 3, 1, id) END AS ar,
  CASE WHEN id % 4 = 3 THEN null ELSE array('b', cast(null as string), s, 'A') END AS sa,
  CASE WHEN id % 4 = 3 THEN null ELSE map('k', id, 'a', 2) END AS m,
  CASE WHEN id % 4 = 3 THEN null ELSE named_struct('x', id, 'y', s) END AS st,
  cast(s as binary) AS bi
  FROM raw_values r
"""

OF_ROWS = r"""
i + 1
i + ti
ti + ti
i * i
l + 1
l * 2
i - l
i / 2
i / ti
l / 3
i / 0
d / 0
de / 3
de / de
dw / 3
dw / dw
de * de
de + dw
de + 1
de * 2
de - i
de * 1.5
de / 7
1 / 3
2 / 3.0
1.0 / 3
i % 3
l % 7
d % 2
de % 3
i % 0
pmod(i, 3)
pmod(-7, 3)
pmod(de, 3)
abs(ti)
abs(f)
abs(ti) + ti
l + de
de / l
l / dw
de * 2L
de / 2L
cast(2 as bigint) * de
de / 2.0
0.0
2.00
i div 2
l div 7
-i
-de
+i
i & 6
i | 8
i ^ 5
~i
abs(i)
abs(de)
abs(d)
abs(l)
d = 0.1
de + d
d + 1
round(d)
round(d, 1)
round(de)
round(de, 1)
round(dw, 3)
round(f)
round(f, 1)
round(i)
round(i, -1)
round(l, -2)
round(d, -2)
bround(d)
bround(d, 1)
bround(de)
bround(de, 1)
bround(i, -1)
floor(d)
ceil(d)
ceiling(d)
floor(de)
ceil(de)
floor(i)
ceil(i)
floor(f)
sqrt(d)
sqrt(i)
sqrt(de)
positive(i)
negative(i)
factorial(ti)
shiftleft(i, 2)
shiftright(i, 1)
shiftrightunsigned(i, 1)
shiftleft(l, 2)
hex(i)
hex(l)
hex(s)
hex(bi)
bin(l)
bin(i)
greatest(i, ti)
greatest(i, l)
greatest(s, t)
greatest(d, de)
greatest(i, null)
greatest(i, ti, l)
least(i, ti)
least(i, ti, l)
least(s, t)
least(da, cast('2020-01-01' as date))
concat(s, t)
concat(s, null)
concat(s, 'x', t)
concat(s, i)
concat(s, d)
concat(s, de)
concat(s, da)
concat(s, ts)
concat(ch, '|')
concat(vc, '|')
s || t
s || 'x'
s || i
concat_ws('-', s)
concat_ws('-', s, t)
concat_ws('-', s, null, t)
length(s)
length(ch)
length(vc)
length(bi)
char_length(s)
character_length(s)
octet_length(s)
upper(s)
ucase(s)
lower(s)
lcase(s)
upper(ch)
trim(s)
ltrim(s)
rtrim(s)
trim('\t a \n')
trim(' a ')
rtrim(ch)
lpad(s, 6, '*')
rpad(s, 6, '*')
lpad(s, 2, '*')
repeat(t, 3)
repeat(t, -1)
space(3)
reverse(s)
substr(s, 1, 3)
substr(s, 0, 3)
substr(s, -3)
substr(s, -3, 2)
substr(s, 2)
substr(s, 0)
substr(s, 100)
substr(s, -100, 3)
substr(s, 1, -1)
substr(s, -100)
substring(s, 2, 3)
substring(s, 0, 2)
substring(s, 2)
substr(ch, 1, 4)
substring_index(s, ',', 2)
substring_index(s, ',', -2)
substring_index(s, ',', 0)
instr(s, 'a')
locate(t, s)
locate('a', s)
locate('a', s, 2)
locate('', s)
locate('b', s, 0)
translate(s, 'abc', 'xy')
replace(s, 'a', 'z')
regexp_replace(s, '[0-9]', '#')
regexp_replace(s, '(a)', '<$1>')
regexp_replace(s, 'a', '\\\\')
regexp_replace(s, '\\d+', 'N')
regexp_replace(s, '', '-')
regexp_extract(s, '(\\d+)', 1)
regexp_extract(s, '([a-z]+)', 1)
regexp_extract(s, '([a-z]+)')
regexp_extract(s, '[a-z]+', 0)
split(s, ',')
split(s, '\\.')
split(s, ' ')
split(t, 'b')
md5(s)
sha1(s)
sha(s)
sha2(s, 256)
sha2(s, 0)
sha2(s, 224)
crc32(s)
crc32(bi)
format_number(d, 2)
format_number(i, 0)
format_number(de, 1)
format_number(l, 3)
get_json_object(s, '$.a')
get_json_object(s, '$.b.c')
get_json_object(s, '$.b.c[1]')
get_json_object(s, '$.b')
get_json_object('{"a":"x\\ty","b":1.50,"c":true,"d":null,"e":[]}', '$.a')
get_json_object('{"a":"x","b":1.50,"c":true,"d":null,"e":[]}', '$.b')
get_json_object('{"a":"x","b":1.50,"c":true,"d":null,"e":[]}', '$.c')
get_json_object('{"a":"x","b":1.50,"c":true,"d":null,"e":[]}', '$.d')
get_json_object('[{"a":1},{"a":2}]', '$[*].a')
find_in_set('b', 'a,b,c')
find_in_set(t, s)
find_in_set('a,b', 'a,b')
elt(ti, s, t)
elt(2, 'a', 'b')
elt(1, s)
if(b, 1, 2)
if(i > 5, s, t)
if(null, 1, 2)
if(i > 5, i, d)
if(i > 5, 'x', null)
nvl(s, 'none')
nvl(i, 0)
nvl(i, 'x')
nvl(da, cast('2020-01-01' as date))
nullif(s, '')
nullif(i, 1)
coalesce(s, t, 'z')
coalesce(i, l)
coalesce(de, dw)
coalesce(de, 0)
coalesce(d, 0)
coalesce(i, 0.5)
isnull(s)
isnotnull(s)
isnull(i)
case when i > 5 then 'big' when i is null then 'none' else 'small' end
case s when 'abc' then 1 else 2 end
case when i > 5 then i else d end
case when i > 5 then de else i end
case when i > 5 then de else dw end
case i when 1 then 'a' when 2 then 'b' end
case when i > 5 then 1 end
i = 1
i == 1
i <> 1
i != 1
i <=> null
s <=> null
not b
!b
b and i > 3
b or null
i in (1, 2, null)
i not in (1, 2)
s in ('abc', 'x')
i between 1 and 5
i not between 1 and 5
s between 'a' and 'c'
s like 'a%'
s like '%\\_%'
s like '_b_'
s like 'a\\%'
s not like '%a%'
s like '%B%'
s rlike '^[a-z]+$'
s rlike 'b'
s regexp 'b'
s is null
s is not null
b is true
b is not true
b is false
s < t
s = t
vc = 'abc'
ch = 'abc'
ch like 'abc'
ch like 'abc%'
ch < 'abd'
ch = vc
ch = s
vc = s
i = l
i = d
i = de
de = d
d = 0.5
de = 1.5
de > 1
i > 1.5
l > 2147483648
i = '1'
i > '5'
d = '1.5'
b = true
da = '2024-01-31'
da > '2024-01-01'
da = ts
da < ts
ts > '2024-01-01'
ts > '2024-01-01 00:00:00'
ts = '2024-01-31 12:34:56'
ts >= da
i in ('1', '2')
da in ('2024-01-31')
da between '2024-01-01' and '2024-12-31'
da = date '2024-01-31'
ts = timestamp '2024-01-31 12:34:56'
ts > date '2024-01-01'
cast(s as int)
cast(t as int)
cast(s as bigint)
cast(s as tinyint)
cast(s as double)
cast(s as float)
cast(s as decimal(10,2))
cast(s as decimal)
cast(s as decimal(38,18))
cast(s as date)
cast(s as timestamp)
cast('2024-1-5' as date)
cast('2024-01-05 10:00:00' as date)
cast('2024-01-05T10:00:00' as timestamp)
cast('2024-01-05' as timestamp)
cast('2024-01-05 1:2:3' as timestamp)
cast('2024-13-05' as date)
cast(' 2024-01-05 ' as date)
cast('20240105' as date)
cast('2024' as date)
cast('2024-01' as date)
cast('1d' as double)
cast('0x10' as int)
cast('1e3' as int)
cast('1e3' as double)
cast('+5' as int)
cast('5.' as int)
cast('.5' as int)
cast('.5' as double)
cast('' as int)
cast('Infinity' as double)
cast('NaN' as double)
cast('inf' as double)
cast('nan' as double)
cast(' 5' as double)
cast('1,000' as int)
cast('2147483648' as int)
cast('-2147483649' as int)
cast('9223372036854775808' as bigint)
cast('128' as tinyint)
cast('1e3' as decimal(10,2))
cast(' 1.5 ' as decimal(10,2))
cast('1.005' as decimal(10,2))
cast('123456789012' as decimal(10,2))
cast(i as string)
cast(l as string)
cast(d as string)
cast(f as string)
cast(de as string)
cast(da as string)
cast(ts as string)
cast(bi as string)
cast(s as binary)
cast(i as tinyint)
cast(i as smallint)
cast(l as int)
cast(l as smallint)
cast(d as int)
cast(d as bigint)
cast(d as tinyint)
cast(f as int)
cast(d as float)
cast(f as double)
cast(if(abs(d) < 1e-50, 0e0, d) as decimal(10,2))
cast(de as int)
cast(de as bigint)
cast(de as double)
cast(de as float)
cast(de as decimal(10,1))
cast(de as decimal(5,2))
cast(de as decimal(38,10))
cast(dw as decimal(10,2))
cast(i as decimal(10,2))
cast(i as decimal(5,2))
cast(l as decimal(10,0))
cast(l as decimal(20,0)) / cast(3 as decimal(20,10))
cast(i as double)
cast(l as double)
cast(l as float)
cast(i as boolean)
cast(d as boolean)
cast(de as boolean)
cast(b as int)
cast(b as double)
cast(b as decimal(3,1))
cast(ts as date)
cast(da as timestamp)
cast(s as varchar(3))
cast(s as char(3))
cast(s as char(30))
cast(i as varchar(2))
length(cast(s as char(30)))
cast(vc as string)
cast(ch as string)
cast(null as int)
year(da)
year(ts)
year(s)
year('2024-05-06')
quarter(da)
month(da)
month(s)
day(da)
dayofmonth(ts)
dayofweek(da)
dayofweek(s)
weekofyear(da)
weekofyear(ts)
weekofyear(s)
hour(ts)
minute(ts)
second(ts)
extract(year from da)
extract(month from ts)
extract(day from da)
extract(week from da)
extract(quarter from da)
extract(dayofweek from da)
extract(hour from ts)
to_date(s)
to_date(ts)
to_date(da)
date(s)
date(ts)
date_add(da, 1)
date_add(da, ti)
date_add(s, 1)
date_add(ts, 1)
date_sub(da, 1)
date_sub(s, 1)
date_sub(ts, 30)
datediff(da, '2020-01-01')
datediff(da, ts)
datediff(ts, da)
datediff(s, '2024-01-01')
datediff(da, cast('2020-01-01' as date))
add_months(da, 1)
add_months(da, -1)
add_months(ts, 1)
add_months(s, 1)
add_months('2024-02-29', 12)
add_months('2024-01-31', 1)
add_months('2024-02-29', 1)
last_day(da)
last_day(ts)
last_day(s)
next_day(da, 'MO')
next_day(da, 'tuesday')
next_day(s, 'TU')
months_between(da, '2020-01-01')
months_between(da, cast('2020-01-31' as date))
months_between(ts, cast('2020-01-31' as date))
months_between(s, '2024-02-29')
trunc(da, 'MM')
trunc(da, 'YEAR')
trunc(da, 'Q')
trunc(da, 'MON')
trunc(ts, 'MM')
trunc(s, 'MM')
date_format(da, 'yyyy-MM-dd')
date_format(ts, 'yyyy-MM-dd HH:mm:ss')
date_format(ts, 'yyyy/MM/dd HH:mm:ss.SSS')
date_format(da, 'yyyyMM')
date_format(da, 'E')
date_format(da, 'EEEE')
date_format(da, 'MMM')
date_format(da, 'MMMM d, yyyy')
date_format(da, 'D')
date_format(da, 'yy')
date_format(da, 'y')
date_format(da, 'M/d/yyyy')
date_format(ts, 'hh:mm a')
date_format(ts, 'h')
date_format(da, 'dd')
date_format(ts, 'HH')
cast('2024-01-31' as timestamp)
date '2024-01-31'
timestamp '2024-01-31 10:00:00'
timestamp '2024-01-31 10:00:00.5'
size(ar)
size(m)
size(sa)
ar[0]
ar[10]
ar[i]
m['k']
m['zz']
m[s]
st.x
st.y
array(1, 2)
array(i, l)
array(s, t)
array(i)
map('a', 1)
map('a', 1, 'b', i)
named_struct('a', 1)
named_struct('a', 1, 'b', s)
struct(1, 'a')
struct(i, s)
struct(i)
array_contains(ar, 3)
array_contains(sa, 'b')
array_contains(sa, 'zz')
m
st
ar
sa
'it''s'
'a\'b'
"it's"
"say \"x\""
'tab\tx'
'nl\nx'
'back\\slash'
'a' 'b'
'ünï ✓'
''
1L
1S
1Y
1.5BD
10BD
1.5
1.50
1e3
1.5e2
123456789012
99999999999999999999
-1
true
0.1 + 0.2
1 + 1
'5' + '6'
1.5 + 1
1e0 / 3
nvl(null, s)
s + 1
s * 2
s / 2
s - t
t % 2
'1' + 1
hour(s)
date_format(s, 'yyyyMM')
f + 1
f * 2
ts = '2024-01-31 12:34:56.123'
instr(s, 'ck')
array_contains(ar, 10)
coalesce(cast(null as string), s)
sha2(s, 512)
sha2(s, 384)
cast(s as string)
cast('x' as varchar(10)) || '!'
named_struct('a', i, 'b', array(s)).b[0]
de * 2.50
de / 2.0
de + 1.00
concat(vc, ch, s)
if(ch = 'abc', vc, s)
nvl(vc, 'none')
case when ch = vc then ch else vc end
m['k'] + 1
isnull(cast(s as int))
date_add(to_date('2024-01-31'), 1)
date_sub(cast('2024-03-01' as date), i % 5)
datediff(to_date(s), cast('2024-01-01' as date))
last_day(to_date(s))
months_between(to_date('2024-03-31'), to_date('2024-02-29'))
year(to_date(s)) * 100 + month(to_date(s))
pmod(datediff(da, to_date('1900-01-01')), 7)
trim(cast(i as string))
lpad(cast(i as string), 12, '0')
regexp_extract(s, '^(\\w+):', 1)
split(s, ',')[0]
split(s, '\\|')[0]
""".strip().splitlines()
"""Expressions of one row of `every_type`."""

OF_GROUPS = r"""
count(*)
count(1)
count(s)
count(distinct s)
count(distinct s, t)
count(distinct i, b)
sum(ti)
sum(i)
sum(l)
sum(f)
sum(d)
sum(de)
sum(dw)
sum(distinct ti)
avg(distinct ti)
min(distinct s)
max(distinct i)
avg(ti)
avg(i)
avg(d)
avg(de)
min(s)
max(s)
min(da)
max(ts)
max(b)
min(de)
max(ch)
min(d)
sort_array(collect_set(ti))
sort_array(collect_list(i))
size(collect_set(s))
percentile(i, 0.5)
max(struct(i, s))
count(*) + 1
sum(i) / count(*)
sum(case when b then 1 else 0 end)
sum(if(b, 1, 0))
max(length(s))
avg(s)
sum(t)
""".strip().splitlines()
"""Aggregates of `every_type`, grouped by `b`."""

OF_WINDOWS = r"""
row_number() over (order by id)
ntile(3) over (order by id)
lag(i) over (order by id)
lag(i, 2) over (order by id)
lag(i, 2, 0) over (order by id)
lead(i) over (order by id)
lead(i, 2) over (order by id)
lead(s, 1, 'x') over (order by id)
first_value(i) over (order by id)
first_value(i, true) over (order by id)
last_value(i) over (order by id)
last_value(i, true) over (order by id)
sum(ti) over (order by id rows between 1 preceding and 1 following)
avg(de) over (order by id)
count(s) over (order by id)
rank() over (order by ti)
dense_rank() over (order by ti)
percent_rank() over (order by ti)
cume_dist() over (order by ti)
sum(ti) over (order by ti)
sum(ti) over (order by ti range between unbounded preceding and current row)
rank() over (order by b desc, ti desc)
rank() over (order by s asc nulls last)
sum(i) over ()
last_value(i) over (partition by b order by id rows between 2 preceding and unbounded following)
sum(d) over (partition by b order by id rows unbounded preceding)
max(s) over (partition by b order by id)
rank() over (partition by b order by s nulls first)
min(i) over (partition by b order by s nulls first)
sum(i) over (partition by b)
avg(i) over (partition by b)
count(*) over (partition by b)
max(struct(i, s)) over (partition by b)
""".strip().splitlines()
"""Window functions over `every_type`. Each order is a job of Hive's that takes a second."""

WIDER = frozenset({"coalesce(de, 0)"})
"""Expressions whose decimals have more digits before the point in Spark, and the same values."""

NOT_IN_HIVE_3 = frozenset(
    r"""
concat(s, de)
cast(s as date)
cast(s as timestamp)
cast('2024-1-5' as date)
cast('2024-13-05' as date)
cast(' 2024-01-05 ' as date)
cast('2024' as date)
cast('2024-01' as date)
cast(de as string)
year(s)
month(s)
dayofweek(s)
weekofyear(s)
to_date(s)
date(s)
date_add(s, 1)
date_sub(s, 1)
datediff(s, '2024-01-01')
add_months(s, 1)
last_day(s)
next_day(s, 'TU')
months_between(s, '2024-02-29')
trunc(s, 'MM')
hour(s)
date_format(s, 'yyyyMM')
datediff(to_date(s), cast('2024-01-01' as date))
last_day(to_date(s))
year(to_date(s)) * 100 + month(to_date(s))
avg(de)
avg(s)
avg(de) over (order by id)
cume_dist() over (order by ti)
""".strip().splitlines()
)
"""Expressions that a Hive 3 evaluates in another way than a Hive 4."""

FAILS_IN_HIVE_3 = frozenset({"b or null"})
"""Expressions of which a Hive 3 makes no view."""
