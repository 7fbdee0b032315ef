"""Word lists of corpus.py, chosen by hand."""

PEOPLE = """
teacher doctor nurse driver farmer writer singer student worker player manager lawyer captain father mother brother
sister uncle aunt cousin neighbor friend boss visitor girl boy woman man child baby king queen guest guide cook baker
sailor soldier artist painter actor waiter clerk judge engineer
""".split()
NAMES = """
anna john mary peter david sarah michael emma james laura robert linda thomas kate daniel julia mark helen george lucy
paul alice henry susan jack sophie
""".split()
THINGS = """
book letter ticket bag box key phone camera computer table chair lamp door window car bike boat train bus plane map
picture song story game ball coat hat shirt shoe watch ring bottle cup plate knife spoon bowl basket blanket pillow
mirror clock radio newspaper magazine package present umbrella wallet card bill report message question answer plan
list note pencil pen paper
""".split()
FOODS = """
bread butter cheese milk water coffee tea juice rice soup salad chicken fish beef pasta pizza cake sugar salt pepper
fruit apple orange banana lemon tomato potato onion egg honey chocolate ice cream breakfast lunch dinner
""".split()
PLACES = """
house garden kitchen office school park market shop bank hotel airport station library museum hospital church theater
restaurant bridge river lake beach forest mountain island village city town street corner road farm field harbor
castle tower square valley hill
""".split()
ADJECTIVES = """
big small old new young good bad great little long short high low warm cold hot cool dry wet heavy light dark bright
clean dirty quiet loud quick slow fast early late easy hard strong weak soft rich poor happy sad angry tired hungry
busy free full empty open fresh sweet bitter strange simple famous important beautiful pretty lovely friendly kind
gentle polite honest careful lucky brave clever funny serious broken different special modern ancient narrow wide deep
round red blue green yellow black white brown gray golden wooden
""".split()
ADVERBS = """
quickly slowly quietly carefully easily suddenly finally usually often always never sometimes early late again today
tomorrow yesterday tonight soon together alone outside inside nearby really probably certainly happily
""".split()
VERBS_PAST = """
opened closed found lost bought sold carried painted cleaned fixed broke moved dropped caught kept wanted needed liked
loved saw watched noticed forgot remembered brought took left borrowed returned covered pushed pulled touched held hid
sent received wrote read finished started checked chose used made
""".split()
VERBS_PAST_ALONE = """
walked ran slept laughed cried sang danced waited worked stayed arrived left returned smiled listened traveled stopped
jumped climbed sat stood fell grew changed talked studied rested
""".split()
VERBS = """
open close find buy sell carry paint clean fix break move drop catch keep want need like see watch notice forget
remember bring take borrow return cover push pull touch hold send write read finish start check choose use make
""".split()
DAYS = """
monday tuesday wednesday thursday friday saturday sunday
""".split()
MONTHS = """
january february march april may june july august september october november december
""".split()
ONES = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
""".split()
TENS = """
twenty thirty forty fifty sixty seventy eighty ninety
""".split()
ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth twentieth thirtieth
""".split()
UNITS = """
minutes hours days weeks months years miles dollars people pages meters percent degrees seconds kilometers pounds
""".split()
# left out of the frequency list: crude or sad words, abbreviations, forms that lost their apostrophe
UNWANTED = set("""
    ad ass bbc bc bitch cant ceo cnn com damn dead death del der des dick didnt dna doesnt dont drugs dvd em eng
    etc fbi fc fuck fucking gdp gun ha hell hiv html http https id ii iii ill im inc isnt iv ive kill killed
    killing las les lgbt lmao lol los ltd mlb murder naked nazi nba net nfl nhl nude omg org php pm porn que rape
    san sex sexual shit suicide terrorist terrorists thats tho uk und usa von wasnt wont wtf www xbox ya yo
    """.split())
SHORT_WORDS = set("a i an as at be by do go he if in is it me my no of ok on or so to up us we am oh hi tv".split())
