"""Word lists of the rule-based extractor: nouns, attributes and synonyms.

They are our own, made for captions of everyday images. `;` or the end of a line ends a set, and
`_` stands for a space. Of a set in BEINGS, VEHICLES, THINGS or ATTRIBUTES at most one word fits,
so that the others are foils. `~` marks a word that has foils and is none itself.
"""

BEINGS = """
bird squirrel rabbit butterfly ; ~rider ~motorcyclist runner hiker swimmer ; couple trio
man ~guy ~gentleman woman ~lady boy girl
~child ~kid ~toddler adult ; ~baby ~infant ~toddler puppy kitten ; teenager adult
~person ~child ~kid dog horse cow cat ; dog ~puppy cat ~kitten rabbit goat fox
horse cow sheep goat donkey camel llama ; zebra giraffe elephant rhino lion tiger hippo
bear polar_bear wolf monkey deer kangaroo
bird duck goose swan pigeon seagull parrot owl chicken
greyhound golden_retriever german_shepherd poodle terrier bulldog dalmatian dachshund \
retriever ~labrador ~collie ~shepherd
fish turtle frog crab snake lizard ; player referee coach spectator
skateboarder snowboarder skier surfer skater cyclist bicyclist biker
climber hiker runner swimmer diver
policeman fireman soldier chef waiter nurse doctor businessman construction_worker
batter pitcher catcher umpire ; bride groom bridesmaid
clown dancer singer musician drummer guitarist
~cheerleader ~fisherman ~photographer ~performer ~worker ~officer chef nurse
~jockey ~cowboy ~boxer ~driver ~racer ~artist ~kayaker ~windsurfer ~goalie ~wakeboarder chef nurse
~athlete ~gymnast ~waterskier ~rower ~jumper ~skydiver ~student ~customer ~fan chef nurse
~batsman ~quarterback ~rollerblader ~jogger ~wrestler ~protester ~bicycler ~teammate chef nurse
~team ~band ~audience couple
~crowd ~family couple trio
"""

VEHICLES = """
car truck bus van taxi train tram
bike bicycle motorcycle scooter skateboard unicycle tricycle wheelchair
dirt_bike mountain_bike quad_bike ; boat ship canoe kayak raft sailboat surfboard jet_ski
airplane plane jet helicopter kite balloon parachute ; wagon cart stroller sled wheelbarrow
fire_truck police_car ambulance school_bus tow_truck
skateboard surfboard snowboard bicycle scooter
"""

THINGS = """
toy stick bone newspaper ; ~collar ~harness ~muzzle bandanna ; sign flag banner ; tire box barrel
uniform costume tuxedo swimsuit ; smile frown ; cigarette pencil lollipop
shore pier bridge ; bubbles balloons leaves ; clothes toys dishes
~outfit ~clothing ~gear ~attire tuxedo pajamas ; ~board kayak sled ; ~court rink rooftop
~slope ~hillside staircase ramp
~sunset ~sky rainbow ; ~trunks skirt ; ~sweatshirt vest coat ; ~stage rooftop
~platform ~ledge ladder bench
~food ~meal toy ; ~drink ~beverage sandwich
~backyard ~courtyard ~patio ~porch kitchen rooftop ; ~racetrack ~ground rooftop ; ~tube kite
~goal tent
~paper pillow shoe ; ~headphones hat ; ~instrument ~gun ~sword broom ; ~creek ~sea pool
jungle_gym swing slide ; pool_table desk ; ~wave ramp hurdle ; ~net curtain ; ~pavement grass snow
fire smoke rain ; skis snowboard sled skates ; chair bench sofa couch stool armchair rocking_chair
bed crib couch hammock
table desk shelf cabinet dresser counter ; lamp candle clock mirror vase picture_frame
rug carpet curtain blanket pillow mattress towel
refrigerator fridge stove oven microwave dishwasher toaster washing_machine
toilet sink bathtub shower
laptop computer television tv cell_phone cellphone camera radio
keyboard mouse monitor printer remote
phone book newspaper magazine letter ; plate bowl tray basket pan pot ; cup mug glass bottle can
fork knife spoon spatula chopsticks
pizza sandwich hamburger burger hot_dog taco salad burrito
cake donut doughnut cookie pie muffin ice_cream
apple banana orange pear peach lemon strawberry
broccoli carrot tomato lettuce cucumber onion potato
fruit meat bread cheese rice pasta soup ; coffee tea beer wine milk juice soda
~shirt ~t-shirt ~jersey ~tank_top sweater jacket coat hoodie vest
pants jeans shorts skirt ; dress suit swimsuit bikini wetsuit ~costume robe
~bathing_suit ~swim_suit dress robe
hat cap helmet headband hood bandanna
glasses goggles mask sunglasses ; shoes boots sandals sneakers socks slippers
tie scarf necklace ~belt ; glove mitten watch bracelet ring
backpack suitcase purse handbag briefcase ; ~luggage box umbrella
umbrella flag cane broom fishing_rod
ball frisbee stick rope bone balloon
football soccer_ball basketball volleyball tennis_ball baseball
bat racket racquet hockey_stick golf_club ; ~paddle broom umbrella
guitar violin drum trumpet piano accordion microphone
teddy_bear doll stuffed_animal toy_car balloon
football soccer basketball baseball tennis volleyball hockey rugby cricket golf
beach playground dock ~lawn rooftop
desert forest woods jungle meadow
~mountain ~hill ~cliff ~valley ~canyon ~mountainside desert beach
ocean lake river pond pool stream puddle
grass snow sand mud gravel dirt ice ; ~water grass snow sand
~street ~sidewalk ~highway ~alley ~driveway ~road ~path ~trail ~track ~walkway \
railroad beach rooftop
~field ~park ~yard ~garden ~lawn ~pasture ~meadow parking_lot beach rooftop
kitchen bathroom bedroom living_room office classroom garage
restaurant store church museum library hospital school
house barn garage castle tower skyscraper cabin tent
airport train_station bus_stop harbor ; city village farm ; stadium gym theater arena
tree bush cactus ; ~flower feather balloon
fence wall hedge railing gate ; stairs ladder escalator ramp elevator ; steps ladder ramp
~floor couch table bed
~building tent bridge ; statue fountain tree ; swing slide seesaw trampoline merry-go-round
~swing_set ~play_set slide seesaw trampoline merry-go-round
ramp rail hurdle ; ~obstacle puddle
fire_hydrant mailbox parking_meter trash_can phone_booth
stop_sign traffic_light street_sign billboard ; rock log branch stump boulder
leaf feather petal ; sun moon rainbow ; rain fog lightning ; waterfall fountain geyser
~pole ~post ~column tree statue
box bag bucket barrel crate jar ; shovel rake hose hammer saw axe
~leash ~chain ~ribbon umbrella stick
"""

ATTRIBUTES = """
black white red blue green yellow orange brown pink purple grey gray
tan beige golden silver black white
blond blonde brunette red-haired dark-haired ; wooden wood metal plastic stone brick glass concrete
leather denim cotton fur
striped plaid floral checkered spotted ; grassy snowy sandy muddy rocky
sunny cloudy rainy foggy stormy
round square rectangular triangular ; large big small little ; huge tiny ; ~giant tiny ; tall short
long short ; young old elderly ; old modern
wet dry ; open closed ; empty full ; crowded empty ; busy deserted ; dirty clean ; hot cold
wide narrow ; thick thin ; shallow deep
light dark ; bright dark ; male female ; indoor outdoor ; happy sad ; smiling frowning crying
curly straight ; bald long-haired
bearded clean-shaven ; fluffy hairless ; rough smooth calm ; modern antique ; fat skinny
overweight thin ; paved unpaved ; urban rural
tennis soccer basketball baseball football volleyball hockey ; dining coffee pool ping-pong
hardwood tiled carpeted ; double-decker single-decker ; sliced whole ; ripe rotten ; steep flat
standing sitting sleeping
two three four five six seven ; 2 3 4 5 6
"""

NUMBERS = "two three four five six seven eight nine ten 2 3 4 5 6 7 8 9 10"

# Colours that animals come in, and beings to whom colours do not stick, or who are young by name.
COATS = "black white brown grey tan golden spotted"
PEOPLE = """
man guy gentleman woman lady boy girl child kid toddler baby adult teenager person couple crowd
player
"""
CHILDREN = """
boy girl child kid toddler baby infant teenager boys girls children kids toddlers babies teenagers
puppy kitten puppies kittens
"""

# Words that may name the same thing: synonyms, and words of which one takes in the other.
SYNONYMS = """
skateboarder skater ; snowboarder skier skater ; cyclist biker bicyclist motorcyclist rider driver
duck goose swan ; pigeon dove seagull ; rabbit hare ; fire smoke
street road highway alley driveway path ; sidewalk path pavement driveway
sand dirt mud gravel ; snow ice ; grass dirt ; field park yard garden lawn meadow pasture playground
ocean sea ; lake ocean ; creek stream river
log branch stick stump ; shoes socks boots sneakers ; pants jeans ; glove mitten ; backpack bag
luggage suitcase briefcase ; football soccer_ball
football rugby ; bike motorcycle scooter ; motorcycle scooter ; wagon cart ; red orange
pink purple ; purple blue ; pink red ; silver grey gray white
yellow gold golden orange ; rainy stormy cloudy foggy ; sandy muddy rocky ; uniform costume suit
shirt t-shirt jersey
fence gate wall railing ; rail railing fence ; pier bridge ; clothes costumes ; stool chair
bench chair ; couch bed ; shelf cabinet dresser
valley hill canyon mountain ; cliff mountain rock ; beach shore ; puddle water ; lamp candle
stadium arena ; gym stadium ; village city town ; apple peach
stairs steps ; clothes uniform ; hurdle rail ; people couple ; couple family ; people crowd
people family
pavement street sidewalk road ; playground park ; dirt mud ; lawn grass ; dock pier
man guy gentleman ; woman lady ; baby infant toddler child kid ; cyclist bicyclist biker
airplane plane jet ; bike bicycle
motorcycle dirt_bike ; boat ship sailboat ; boat canoe kayak raft ; sofa couch
chair armchair stool ; couch bed ; refrigerator fridge
television tv monitor ; laptop computer ; cell_phone cellphone phone ; hamburger burger sandwich
donut doughnut ; racket racquet
shirt t-shirt jersey ; jacket coat hoodie sweater ; hat cap hood ; glasses sunglasses goggles
swimsuit bikini wetsuit
forest woods jungle ; mountain hill cliff ; street road highway ; path trail track ; pond lake
pond pool ; lake river ; stream river ; fence railing
rock boulder ; stump log ; post pole column ; water ice snow ; rope chain leash ribbon
football soccer ; bush hedge tree
purse handbag bag ; shoes boots sneakers sandals ; cup mug glass ; plate tray ; pan pot ; box crate
house cabin ; sunset sunrise
grey gray silver ; tan beige golden brown ; blond blonde golden ; wooden wood ; wooden brick stone
large big huge giant
small little tiny ; old elderly ; skinny thin ; black dark ; bright light ; stand lean
sit crouch kneel squat ; walk stroll hike
run jog race sprint ; jump leap ; hold carry grab grip ; look stare gaze watch ; pull drag
talk speak ; throw toss ; ride drive
lie lay rest sleep ; climb scale ; eat chew bite ; on upon atop onto on_top_of
in inside within into
near by beside next_to alongside close_to ; under beneath below underneath ; above over ; along down
in_front_of before ; plaid checkered ; hiker climber
suit swimsuit wetsuit bathing_suit bikini swim_suit
behind in_back_of ; through across ; around near
"""

# Here the first word takes in the others.
KINDS = """
person man woman boy girl child kid toddler baby adult teenager guy gentleman lady
water ocean lake river pond pool stream puddle sea creek
retriever golden_retriever ; shepherd german_shepherd ; people couple crowd family
woman girl ; lady girl ; man boy ; guy boy ; gentleman boy
adult man woman guy gentleman lady ; child boy girl ; kid boy girl ; toddler boy girl
baby boy girl ; teenager boy girl ; male man boy
female woman girl
dog puppy golden_retriever german_shepherd greyhound poodle terrier bulldog dalmatian \
dachshund retriever labrador collie shepherd
cat kitten ; bear polar_bear
bird duck goose swan pigeon seagull parrot owl chicken ; animal dog cat horse cow bird sheep goat
boat sailboat canoe kayak raft
chair rocking_chair ; building house barn garage castle tower skyscraper cabin
player batter pitcher catcher
toy ball frisbee doll balloon bone ; stuffed_animal teddy_bear doll ; fruit apple banana
rider surfer skier skater skateboarder snowboarder ; athlete player runner
musician drummer guitarist singer ; luggage backpack suitcase purse handbag bag briefcase
obstacle ramp rail hurdle ; sign banner stop_sign street_sign billboard
"""

# singular, plural
IRREGULAR_PLURALS = """
fisherman fishermen ; batsman batsmen ; potato potatoes ; tomato tomatoes ; mango mangoes
man men ; woman women ; child children ; person people ; foot feet ; tooth teeth ; mouse mice
goose geese ; sheep sheep ; fish fish
deer deer ; knife knives ; leaf leaves ; shelf shelves ; wolf wolves ; gentleman gentlemen
policeman policemen ; fireman firemen
businessman businessmen ; bus buses
"""

# Nouns without a singular and a plural to tell apart: a number never stands before them.
UNCOUNTED = """
ice_cream broccoli lettuce cattle
clothes pajamas bubbles steps dirt pavement fire smoke
snow ice rain hair skis skates chopsticks sand fruit meat bread cheese rice pasta soup coffee tea
beer wine milk juice soda pants
jeans shorts glasses goggles sunglasses shoes boots sandals sneakers socks slippers luggage football
soccer basketball volleyball
tennis baseball hockey golf rugby cricket woods grass mud gravel water stairs fog lightning
"""

# What breathes and has no foils of its own: it acts, and a participle may belong to it.
ANIMATES = """
people family crowd group team audience band class members member friend friends mother father mom
dad parent parents brother sister
sibling siblings son daughter infant infants youth youths teen teens male males female females lady
individual individuals
performer performers photographer photographers worker workers officer officers athlete athletes
cheerleader cheerleaders
cowboy cowboys jockey jockeys boxer boxers racer racers wrestler wrestlers gymnast gymnasts jogger
joggers kayaker kayakers
motorcyclist motorcyclists rollerblader rollerbladers wakeboarder wakeboarders waterskier
waterskiers fisherman fishermen vendor vendors
goalie quarterback footballer footballers teammate teammates opponent opponents fans onlookers
pedestrians tourists passengers students
teacher trainer owner guard official artist pirate priest backpacker backpackers bicycler bicyclers
windsurfer cameraman jumper jumpers
hunter skydiver parachuter parasailer rower rowers swimmers actor actress entertainer juggler mascot
santa toddler toddlers
defender defenders receiver kicker clown clowns pedestrian bystanders bystander shopper shoppers
customer customers
animal animals pet bull bulls pony ponies lab labrador retriever shepherd collie boxer beagle
doberman pitbull husky hound pug corgi sheltie
chihuahua spaniel mutt canine schnauzer seal dolphin whale pig lamb lambs insect bug bee spider
flock herd
"""

# Of these an image that shows their owner shows most.
BODY_PARTS = """
head hand foot arm leg shoulder knee tongue tail nose eye ear mouth paw face back chest hair beard
mustache moustache tooth teeth finger
thumb toe lip neck stomach belly waist hip chin cheek forehead elbow wrist ankle lap butt bottom
beak snout wing fur skin fist palm
heel eyebrow mohawk ponytail dreadlocks braid pigtail jaw throat torso trunk claw expression smile
frown
"""

# Of these parts one may be without, and a caption says so.
TRAITS = """
hair beard mustache moustache mohawk ponytail dreadlocks braid pigtail smile frown tail
"""

# Matter without a shape of its own.
SUBSTANCES = """
water snow ice grass sand mud dirt gravel rain fog smoke fire air sky wind dust surf foam leaves hay
foliage powder mist rapids wave
waves light sunlight shade bubbles food music darkness weather
"""

# One can be on these, and nothing is under them.
GROUNDS = """
ground floor street road sidewalk path trail track field grass lawn beach shore mountain hill slope
ice snow sand mud dirt gravel court
rink hillside mountainside racetrack pavement highway driveway playground park rooftop porch patio
yard backyard crosswalk island terrain
cliff ledge snowbank cement concrete asphalt runway course plaza boardwalk walkway mountaintop
shoreline riverbank coast bank dune
meadow pasture alley farm desert stage pitch railroad waterfront hilltop peak summit
ridge embankment curb base surface
"""

# "on duty", "at dusk": beside a preposition these name no place.
NO_PLACES = """
display leash phone phones cellphone cellphones fire team way show knees stilts duty guard pavement
top strings ropes air horseback camera cameras photographer dusk dawn sunset sunrise twilight ease
"""

# Up and down these is the same way.
LEVELS = """
street road sidewalk path trail track highway driveway alley walkway boardwalk runway beach pavement
river stream hallway aisle lane shore railroad field court
"""

# One can be on these and never in them.
FLATS = """
beach rooftop shore railroad pier dock porch surfboard skateboard snowboard sled bench stool ledge
track staircase bridge ramp hurdle ladder platform balcony sidewalk rainbow
"""

# One can be in these or out of them.
ENCLOSURES = """
park city village town yard backyard courtyard garden room kitchen bathroom bedroom living_room
office classroom garage pool bathtub tub
car truck bus van taxi train boat canoe kayak raft plane airplane helicopter tent box house building
barn castle cage crib cart stroller
wagon stadium gym store shop restaurant cafe museum library hospital school church bowl cup bag
bucket basket tunnel cave hole playpen
arena forest woods jungle field alley parking_lot hallway doorway chair bed elevator theater station
subway market mall zoo farm barrel
jeep vehicle wheelchair tube fountain sink shower crowd greenhouse bar pen enclosure playground
booth gondola carriage
"""

# What is on these can as well be under them.
TABLES = """
table desk bed bench chair couch sofa bridge car truck bus van trampoline dock pier shelf boat stool
counter picnic_table platform stage
umbrella scaffold balcony hammock overpass blanket towel
"""

# One rides these, and is beside them otherwise.
MOUNTS = """
bike bicycle motorcycle scooter skateboard unicycle tricycle dirt_bike mountain_bike quad_bike atv
snowmobile motorbike horse camel donkey
llama elephant bull pony sled surfboard snowboard wakeboard board jet_ski raft motocross_bike tube
innertube wheelchair swing
"""

# One climbs or leans on these, and is beside them otherwise.
SUPPORTS = """
rail wall fence rock boulder log ramp branch tree rope ladder stairs steps staircase railing gate
statue fountain pole bar bars slide beam
hurdle stump rocks structure barrier handrail box barrel seesaw obstacle pillar tire crate ball
bleachers seat step
"""

WATERS = "ocean lake river pond pool stream sea creek water puddle bay lagoon canal"
RIDEABLE = "horse camel donkey llama elephant bull pony"
CLIMBABLE = """
tree rock cliff mountain hill wall ladder fence pole rope stairs steps staircase boulder building
tower statue rocks
"""
INSTRUMENTS = """
guitar violin drum trumpet piano accordion microphone flute instrument bagpipe saxophone banjo cello
tuba
"""
EVENTS = """
soccer football rugby baseball basketball tennis hockey volleyball cricket golf lacrosse softball
game match polo
"""
WORN = """
outfit gear clothing attire clothes sweatshirt collar harness trunks shoe boot headphones headscarf
headdress hardhat suit apron cape kilt
tutu leotard overalls pajamas snowsuit jumpsuit beret beanie parka underwear muzzle beads diaper
speedo tights overcoat raincoat
leggings gown shawl fedora slacks visor sundress armband bonnet turban earring earrings earphones
jewelry makeup camouflage garb heels top
tops bottoms pads armor uniform costume tuxedo glasses goggles bathrobe tracksuit life_jacket khakis
turtleneck tank_top sari kimono
"""
# things that are held in a mouth or chewed by what hunts and fetches
HUNTERS = """
dog cat puppy kitten fox wolf bear tiger lion lab labrador shepherd collie boxer beagle doberman
pitbull hound husky
"""

# Those whose name says what they are doing.
ROLES = """
rider skateboarder snowboarder skier surfer skater cyclist bicyclist biker climber hiker runner
swimmer diver batter pitcher catcher
umpire player referee coach spectator motorcyclist driver racer jockey kayaker boxer wrestler
gymnast rollerblader wakeboarder
waterskier policeman fireman soldier chef waiter nurse doctor businessman construction_worker bride
groom bridesmaid clown dancer singer
musician drummer guitarist athlete
"""

# Modifiers that fit whatever a head is changed to: sizes, numbers and the like, beside colours.
FREE_MODIFIERS = """
large big small little huge tiny giant several many multiple various few other another different
same old new bright colorful colored
multicolored dark light pale empty dirty clean wet dry single matching pretty beautiful nice long
short lone more and of very
two three four five six seven eight nine ten one 2 3 4 5 6 7 8 9 10 group crowd couple bunch pair
line half
"""
# and these for people and animals
FREE_OF_BEINGS = """
young old older younger elderly teenage adult asian african american indian white black blond blonde
brunette haired dark-haired
red-haired blond-haired dark light brown skinned dressed happy smiling standing sitting sleeping
running walking jumping playing
barefoot excited wet furry fluffy shaggy hairy fuzzy cute middle-aged tall short fat skinny thin tan
"""

MATERIALS = """
wooden wood metal plastic stone brick glass concrete steel iron leather denim cotton fur marble
cement
"""
# What people build or put together, of whatever material.
MADE = """
chair bench stool armchair table desk shelf cabinet dresser counter fence wall railing gate house
garage tower bridge building door ladder
stairs staircase steps ramp bowl plate tray basket pan pot cup mug bottle box barrel crate boat
canoe cart wagon sled fountain statue slide
swing seesaw pole post column pier dock platform castle barn cabin toy
"""
# Modifiers that make a compound of a thing's name ("tennis racket", "dining table").
BINDING = (
    "tennis soccer basketball baseball football volleyball hockey dining coffee pool ping-pong golf"
)

# Nature keeps to a few colours.
PLANTS = """
grass field lawn bush tree leaf hedge meadow yard park hill plant plants foliage forest pasture
bushes trees leaves
"""
UNPAINTED = """
snow sand ice mud dirt gravel smoke fire fog rain sun moon rainbow mountain cliff canyon beach
desert rock boulder rocks log
branch stump stick banana apple orange pear peach lemon strawberry broccoli carrot tomato lettuce
cucumber onion potato fruit meat bread
cheese rice pasta soup coffee tea beer wine milk pizza sandwich wave waves water brick skin tongue
nose eye cow horse elephant lab
retriever poodle swan ocean lake river pond stream sea creek land landscape
"""

# Nouns that look like participles.
NOUNS_IN_ING = """
building clothing railing painting ceiling wedding string ring wing king earring evening morning
sling sibling flooring dwelling pudding
drawing swing thing something nothing anything everything bathing-suit awning
"""
# Participles that a noun may stand before: "snow covered hill".
BOUND_PARTICIPLES = """
covered filled lit lined colored coloured shaped haired skinned paved fenced sized themed faced
legged wrapped made clad printed striped
drawn eared aged furred armed edged rimmed hulled decorated painted coated topped patterned sleeved
tipped collared carpeted soaked wooded strewn stained
"""

# Heads of noun phrases that name nothing one could point at, or nothing in particular.
PLACEHOLDERS = """
thing things something someone somebody anything everything nothing anyone everyone one ones other
others another it stuff item
items object objects front side sides background foreground middle center centre top bottom back
edge end corner left right rest
way ways view scene day time times night afternoon morning evening moment lot lots kind kinds type
types sort sorts variety number
part parts piece pair pairs distance direction front-side area place spot room air midair mid-air
action position formation motion
course process event activity fun turn break ride walk run jump game games trick tricks stunt
picture photo photograph image
pictures photos shot close-up closeup show photographer's display use help attempt effort
competition race flight progress pose
dance swim look stroll nap name case order sale daytime nighttime work line row rows each several
many all both some few none half
first second third style size color colour shape inside outside surface surroundings space duty
preparation group bunch set mid
whilst t n midst medium round whist thumbs
"""

# "a QUANTITY of B" and "a PICTURE of B" name B; a quantity stays in front of it, a picture goes.
QUANTITIES = """
group couple crowd pair bunch herd flock pack pile stack row slice piece cup glass bottle bowl plate
basket box bag can jar number
variety team line set lot lots dozens hundreds bouquet handful collection litter trio loaf pieces
slices cups glasses bottles
bowls plates rows piles
"""

PICTURES = """
picture photo photograph image pictures photos photographs images view shot closeup close-up
painting drawing front back side top type kind sort style
"""
