"""Word lists of the rule-based extractor: nouns, attributes and synonyms. Our own, made for captions of everyday photographs.

`;` separates sets, `_` stands for a space. Of a set in BEINGS, VEHICLES, THINGS or ATTRIBUTES at most one word fits: the others are foils.
`~` marks a word that has foils and is none itself.
"""

BEINGS = """
bird squirrel rabbit butterfly ; rider driver spectator ; couple trio ; man ~guy ~gentleman woman ~lady boy girl
~child ~kid ~toddler ~baby adult ; teenager toddler adult ; ~person dog horse cow cat ; dog ~puppy cat ~kitten rabbit goat fox
horse cow sheep goat donkey camel llama ; zebra giraffe elephant rhino lion tiger hippo ; bear polar_bear wolf monkey deer kangaroo
bird duck goose swan pigeon seagull parrot owl chicken ; greyhound poodle terrier bulldog dalmatian dachshund retriever
fish turtle frog crab snake lizard ; player referee coach spectator ; skateboarder snowboarder skier surfer skater cyclist bicyclist biker
climber hiker runner swimmer diver ; policeman fireman soldier chef waiter nurse doctor businessman construction_worker
batter pitcher catcher umpire ; bride groom bridesmaid ; clown dancer singer musician drummer guitarist
"""

VEHICLES = """
car truck bus van taxi train tram ; bike bicycle motorcycle scooter skateboard unicycle tricycle wheelchair
dirt_bike mountain_bike quad_bike ; boat ship canoe kayak raft sailboat surfboard jet_ski
airplane plane jet helicopter kite balloon parachute ; wagon cart stroller sled wheelbarrow
fire_truck police_car ambulance school_bus tow_truck ; skateboard surfboard snowboard bicycle scooter
"""

THINGS = """
toy stick bone newspaper ; sign flag banner ; tire box barrel ; uniform costume tuxedo swimsuit ; smile frown ; cigarette pencil lollipop
shore pier bridge ; bubbles balloons leaves ; clothes toys dishes ; pool_table desk ; wave ramp hurdle ; ~pavement grass snow
fire smoke rain ; skis snowboard sled skates ; chair bench sofa couch stool armchair rocking_chair ; bed crib couch hammock
table desk shelf cabinet dresser counter ; lamp candle clock mirror vase picture_frame ; rug carpet curtain blanket pillow mattress towel
refrigerator fridge stove oven microwave dishwasher toaster washing_machine ; toilet sink bathtub shower
laptop computer television tv cell_phone cellphone camera radio ; keyboard mouse monitor printer remote
phone book newspaper magazine letter ; plate bowl tray basket pan pot ; cup mug glass bottle can ; fork knife spoon spatula chopsticks
pizza sandwich hamburger burger hot_dog taco salad burrito ; cake donut doughnut cookie pie muffin ice_cream
apple banana orange pear peach lemon strawberry ; broccoli carrot tomato lettuce cucumber onion potato
fruit meat bread cheese rice pasta soup ; coffee tea beer wine milk juice soda ; shirt t-shirt ~jersey sweater jacket coat hoodie vest
pants jeans shorts skirt ; dress suit swimsuit bikini wetsuit costume robe ; hat cap helmet headband hood bandanna
glasses goggles mask sunglasses ; shoes boots sandals sneakers socks slippers ; tie scarf necklace belt ; glove mitten watch bracelet ring
backpack suitcase purse handbag briefcase luggage ; umbrella flag cane broom fishing_rod ; ball frisbee stick rope bone balloon
football soccer_ball basketball volleyball tennis_ball baseball ; bat racket racquet hockey_stick golf_club paddle
guitar violin drum trumpet piano accordion microphone ; teddy_bear doll stuffed_animal toy_car balloon
football soccer basketball baseball tennis volleyball hockey rugby cricket golf ; beach playground dock lawn rooftop
desert forest woods jungle meadow ; mountain hill valley cliff canyon ; ocean lake river pond pool stream puddle
grass snow sand mud gravel dirt water ice ; street sidewalk highway alley driveway railroad ; road path trail track ; path bridge tunnel
field park yard garden parking_lot ; kitchen bathroom bedroom living_room office classroom garage
restaurant store church museum library hospital school ; house barn garage castle tower skyscraper cabin tent
airport train_station bus_stop harbor ; city village farm ; stadium gym theater arena ; tree bush flower cactus
fence wall hedge railing gate ; door window roof chimney ; stairs ladder escalator ramp elevator ; steps ladder ramp ; floor ceiling wall
building tent bridge tree ; statue fountain tree ; swing slide seesaw trampoline merry-go-round ; ramp rail hurdle obstacle
fire_hydrant mailbox parking_meter trash_can phone_booth ; stop_sign traffic_light street_sign billboard ; rock log branch stump boulder
leaf feather petal ; head hand foot arm leg shoulder knee ; tongue tail nose ; eye ear ; mouth ear nose tail paw ; face back chest
hair beard mustache ; sun moon rainbow ; rain fog lightning ; waterfall fountain geyser ; ~pole ~post ~column tree statue
box bag bucket barrel crate jar ; shovel rake hose hammer saw axe ; ~leash ~chain ~ribbon umbrella stick
"""

ATTRIBUTES = """
black white red blue green yellow orange brown pink purple grey gray ; tan beige golden silver black white
blond blonde brunette red-haired dark-haired ; wooden wood metal plastic stone brick glass concrete ; leather denim cotton fur
striped plaid floral checkered spotted ; grassy snowy sandy muddy rocky ; sunny cloudy rainy foggy stormy
round square rectangular triangular ; large big small little ; huge tiny ; ~giant tiny ; tall short ; long short ; young old elderly
wet dry ; open closed ; empty full ; crowded empty ; busy deserted ; dirty clean ; hot cold ; wide narrow ; thick thin ; shallow deep
light dark ; bright dark ; male female ; indoor outdoor ; happy sad ; smiling frowning crying ; curly straight ; bald long-haired
bearded clean-shaven ; fluffy hairless ; rough smooth calm ; modern antique ; fat skinny ; overweight thin ; paved unpaved ; urban rural
tennis soccer basketball baseball football volleyball hockey ; dining coffee pool ping-pong ; front back ; left right
hardwood tiled carpeted ; double-decker single-decker ; sliced whole ; ripe rotten ; steep flat ; standing sitting sleeping
two three four five six seven ; 2 3 4 5 6
"""

NUMBERS = "two three four five six seven eight nine ten 2 3 4 5 6 7 8 9 10"

# Colours that animals come in, and beings to whom colours do not stick, or who are young by name.
COATS = "black white brown grey tan golden spotted"
PEOPLE = "man guy gentleman woman lady boy girl child kid toddler baby adult teenager person couple crowd player"
CHILDREN = "boy girl child kid toddler baby infant teenager boys girls children kids toddlers babies teenagers puppy kitten puppies kittens"

# Words that may name the same thing: synonyms, and words of which one takes in the other.
SYNONYMS = """
stairs steps ; clothes uniform ; couple people crowd ; pavement street sidewalk road ; playground park ; dirt mud ; lawn grass ; dock pier
man guy gentleman ; woman lady ; baby infant toddler child kid ; cyclist bicyclist biker ; airplane plane jet ; bike bicycle
motorcycle dirt_bike ; boat ship sailboat ; boat canoe kayak raft ; sofa couch ; chair armchair stool ; couch bed ; refrigerator fridge
television tv monitor ; laptop computer ; cell_phone cellphone phone ; hamburger burger sandwich ; donut doughnut ; racket racquet
shirt t-shirt jersey ; jacket coat hoodie sweater ; hat cap hood ; glasses sunglasses goggles ; swimsuit bikini wetsuit
forest woods jungle ; mountain hill cliff ; street road highway ; path trail track ; pond lake pool ; stream river ; fence railing
rock boulder ; stump log ; post pole column ; water ice snow ; rope chain leash ribbon ; football soccer ; bush hedge tree
purse handbag bag ; shoes boots sneakers sandals ; cup mug glass ; plate tray ; pan pot ; box crate ; house cabin ; sunset sunrise
grey gray silver ; tan beige golden brown ; blond blonde golden ; wooden wood ; wooden brick stone ; large big huge giant
small little tiny ; old elderly ; skinny thin ; black dark ; bright light ; stand lean ; sit crouch kneel squat ; walk stroll hike
run jog race sprint ; jump leap ; hold carry grab grip ; look stare gaze watch ; pull drag ; talk speak ; throw toss ; ride drive
lie lay rest sleep ; climb scale ; eat chew bite ; on upon atop onto on_top_of ; in inside within into
near by beside next_to alongside close_to ; under beneath below underneath ; above over ; along down ; in_front_of before
behind in_back_of ; through across ; around near
"""

# Here the first word takes in the others.
KINDS = """
person man woman boy girl child kid toddler baby adult teenager guy gentleman lady ; people couple crowd
woman girl ; lady girl ; man boy ; guy boy ; gentleman boy
adult man woman guy gentleman lady ; child boy girl ; kid boy girl ; toddler boy girl ; baby boy girl ; teenager boy girl ; male man boy
female woman girl ; dog puppy greyhound poodle terrier bulldog dalmatian dachshund retriever ; cat kitten ; bear polar_bear
bird duck goose swan pigeon seagull parrot owl chicken ; animal dog cat horse cow bird sheep goat ; boat sailboat canoe kayak raft
chair rocking_chair ; building house barn garage castle tower skyscraper cabin ; player batter pitcher catcher
toy ball frisbee doll balloon ; fruit apple banana
"""

# singular, plural
IRREGULAR_PLURALS = """
potato potatoes ; tomato tomatoes ; mango mangoes
man men ; woman women ; child children ; person people ; foot feet ; tooth teeth ; mouse mice ; goose geese ; sheep sheep ; fish fish
deer deer ; knife knives ; leaf leaves ; shelf shelves ; wolf wolves ; gentleman gentlemen ; policeman policemen ; fireman firemen
businessman businessmen ; bus buses
"""

# Nouns without a singular and a plural to tell apart: a number never stands before them.
UNCOUNTED = """
ice_cream broccoli lettuce cattle
clothes bubbles steps dirt pavement fire smoke
snow ice rain hair skis skates chopsticks sand fruit meat bread cheese rice pasta soup coffee tea beer wine milk juice soda pants
jeans shorts glasses goggles sunglasses shoes boots sandals sneakers socks slippers luggage football soccer basketball volleyball
tennis baseball hockey golf rugby cricket woods grass mud gravel water stairs fog lightning
"""

# Heads of noun phrases that name nothing one could point at, or nothing in particular.
PLACEHOLDERS = """
thing things something someone somebody anything everything nothing anyone everyone one ones other others another it stuff item
items object objects front side sides background foreground middle center centre top bottom back edge end corner left right rest
way ways view scene day time times night afternoon morning evening moment lot lots kind kinds type types sort sorts variety number
part parts piece pair pairs distance direction front-side area place spot room air midair mid-air action position formation motion
course process event activity fun turn break ride walk run jump game games trick tricks stunt picture photo photograph image
pictures photos shot close-up closeup show photographer's display use help attempt effort competition race flight progress pose
dance swim look stroll nap name case order sale daytime nighttime work line row rows each several many all both some few none half
first second third style size color colour shape inside outside surface surroundings space duty preparation group bunch set mid
whilst t n
"""

# "a QUANTITY of B" and "a PICTURE of B" name B; a quantity stays in front of it, a picture goes.
QUANTITIES = """
group couple crowd pair bunch herd flock pack pile stack row slice piece cup glass bottle bowl plate basket box bag can jar number
variety team line set lot lots dozens hundreds bouquet handful collection litter trio loaf pieces slices cups glasses bottles
bowls plates rows piles
"""

PICTURES = """
picture photo photograph image view shot closeup close-up painting drawing front back side top type kind sort style
"""
