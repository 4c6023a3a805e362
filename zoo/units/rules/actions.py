"""Word lists of the rule-based extractor: verbs and prepositions with their contraries.

They are our own, made for captions of everyday images. `;` or the end of a line ends a set, and
`_` stands for a space.
"""

# base, third person, -ing, past
VERBS = """
sit sits sitting sat ; stand stands standing stood ; lie lies lying lay
kneel kneels kneeling knelt ; crouch crouches crouching crouched
squat squats squatting squatted ; lean leans leaning leaned ; sleep sleeps sleeping slept
rest rests resting rested
lay lays laying laid ; walk walks walking walked ; run runs running ran ; jog jogs jogging jogged
jump jumps jumping jumped
leap leaps leaping leapt ; hop hops hopping hopped ; swim swims swimming swam
wade wades wading waded ; float floats floating floated
dive dives diving dived ; crawl crawls crawling crawled ; climb climbs climbing climbed
fall falls falling fell
slide slides sliding slid ; roll rolls rolling rolled ; skate skates skating skated
ski skis skiing skied ; surf surfs surfing surfed
fly flies flying flew ; land lands landing landed ; ride rides riding rode
push pushes pushing pushed ; pull pulls pulling pulled
drag drags dragging dragged ; drive drives driving drove ; park parks parking parked
repair repairs repairing repaired
wash washes washing washed ; hold holds holding held ; carry carries carrying carried
drop drops dropping dropped
throw throws throwing threw ; toss tosses tossing tossed ; catch catches catching caught
kick kicks kicking kicked
hit hits hitting hit ; chase chases chasing chased ; follow follows following followed
lead leads leading led ; hug hugs hugging hugged
kiss kisses kissing kissed ; tackle tackles tackling tackled ; wrestle wrestles wrestling wrestled
fight fights fighting fought
wear wears wearing wore ; remove removes removing removed ; eat eats eating ate
drink drinks drinking drank ; cook cooks cooking cooked
cut cuts cutting cut ; sniff sniffs sniffing sniffed ; lick licks licking licked
bite bites biting bit ; chew chews chewing chewed
read reads reading read ; write writes writing wrote ; paint paints painting painted
play plays playing played
watch watches watching watched ; look looks looking looked ; stare stares staring stared
face faces facing faced
ignore ignores ignoring ignored ; point points pointing pointed ; talk talks talking talked
shout shouts shouting shouted
whisper whispers whispering whispered ; sing sings singing sang ; dance dances dancing danced
laugh laughs laughing laughed
smile smiles smiling smiled ; cry cries crying cried ; enter enters entering entered
leave leaves leaving left
open opens opening opened ; close closes closing closed ; build builds building built
destroy destroys destroying destroyed
fill fills filling filled ; empty empties emptying emptied ; lift lifts lifting lifted
lower lowers lowering lowered
pose poses posing posed ; perform performs performing performed ; take takes taking took
make makes making made ; do does doing did
get gets getting got ; go goes going went ; come comes coming came ; move moves moving moved
travel travels traveling travelled
race races racing raced ; splash splashes splashing splashed ; shake shakes shaking shook
swing swings swinging swung
hang hangs hanging hung ; cross crosses crossing crossed ; gather gathers gathering gathered
wait waits waiting waited
work works working worked ; feed feeds feeding fed ; pet pets petting petted
brush brushes brushing brushed
graze grazes grazing grazed ; reach reaches reaching reached ; attempt attempts attempting attempted
balance balances balancing balanced
snowboard snowboards snowboarding snowboarded ; skateboard skateboards skateboarding skateboarded
paddle paddles paddling paddled
row rows rowing rowed ; sail sails sailing sailed ; use uses using used ; show shows showing showed
dig digs digging dug
bend bends bending bent ; spray sprays spraying sprayed ; touch touches touching touched
wave waves waving waved
block blocks blocking blocked ; pass passes passing passed ; start starts starting started
spill spills spilling spilled
meet meets meeting met ; chat chats chatting chatted ; compete competes competing competed
stop stops stopping stopped
stick sticks sticking stuck ; put puts putting put ; have has having had ; see sees seeing saw
turn turns turning turned
try tries trying tried ; prepare prepares preparing prepared
practice practices practicing practiced ; serve serves serving served
return returns returning returned ; overlook overlooks overlooking overlooked
give gives giving gave ; begin begins beginning began ; speak speaks speaking spoke
shine shines shining shone ; rappel rappels rappelling rappelled
"""

# bases of verbs whose forms are regular
REGULAR_VERBS = """
hike approach bound trot sprint pounce gesture peek peer soar grin struggle frolic nip wink tug
swerve stoop windsurf crash scream topple
snarl prance juggle weave screech dash gallop scamper romp tussle huddle share participate cheer
raise enjoy congregate
sunbathe embrace celebrate examine rush step stretch bounce lounge relax stroll march pedal glide
dribble skip parasail wakeboard
kayak peddle surround retrieve fetch grab twirl flip perch descend ascend emerge admire inspect
observe assist greet attack collide
battle grapple spar engage navigate propel confront squeeze collapse plunge splatter twist yell bark
rollerblade frown appear
listen explore cuddle fish bathe shovel suckle gnaw grasp squint smear purchase emit trail clean
color nurse bow present drum check ollie
embark recline cling hunch help smoke hand teach shop bump photograph tickle tread zoom skim wag
pant munch swat swoop trek sip slurp toboggan pick scale wander stumble trudge grind retreat tumble
lunge bike
"""

# a verb, then its contraries, best first
CONTRARY_VERBS = """
sit stand lie jump ; stand lie kneel sit ; lie stand ; lay stand ; rest run ; sleep play
kneel stand ; crouch stand ; squat stand
lean sit ; walk run crawl ; run walk sleep ; jog walk ; sprint walk ; jump crawl sit ; leap crawl
hop crawl ; bounce sit ; swim stand
wade swim ; float dive ; dive float ; crawl walk ; climb descend ; slide climb ; roll stand
skate walk ; ski walk ; surf swim watch ; hike run
fly land ; land fly ; ride push repair lead wash watch ; push pull ; pull push ; drag push
drive wash ; hold drop throw chase
carry drop chase ; drop hold ; throw catch ; toss catch ; catch throw ignore ; kick catch ignore
hit catch ignore ; chase ignore carry ; follow lead
lead follow ; hug push ; embrace push ; kiss push ; tackle hug ; wrestle hug sleep ; fight hug sleep
wear remove hold ; eat drop throw
drink spill ; cut build ; sniff bite ; lick bite ; bite drop ; chew drop ; fetch ignore
retrieve ignore ; read write
play sleep watch carry ; watch ignore ; face ignore ; talk sing ; chat sing ; shout whisper
sing dance ; dance sit ; laugh cry
smile frown ; cry smile ; enter leave ; leave enter ; open close ; close open ; build destroy
fill empty ; lift lower ; raise lower
lower lift ; race walk ; splash sleep ; hang fall ; cross leave ; wait run ; feed chase ; pet chase
graze sleep ; paddle sit ; row sit
kayak sit ; skateboard walk ; snowboard walk ; rollerblade walk ; dig sleep ; touch kick
pass follow ; balance sit ; swing stand
perform watch ; do watch ; make watch ; attempt watch ; scale descend ; admire ignore
examine ignore ; inspect ignore ; observe ignore
explore ignore ; relax run ; lounge run ; stretch sleep ; grind sit 
"""

# The first take no object, so they are no contrary of a verb that has one; the second need one.
INTRANSITIVE = """
sleep stand sit lie kneel run crawl walk float swim jump fall stop cry smile frown shout whisper
dance land sing dive
"""
TRANSITIVE = """
push repair wash hold drop throw hug remove spill build fill lift lower catch hit ignore leave carry
descend watch lead chase bite
destroy empty close enter write
"""

# These stay where they are: they go with prepositions of place, not of way.
POSTURES = "sit stand lie lay sleep kneel crouch squat rest lean play float"
PLACES = """
in on at under near by beside next_to behind in_front_of on_top_of against inside outside above
below between among with without atop
close_to around outside_of inside_of underneath beneath far_from over
"""
# These go somewhere: where from and where to can be turned round.
MOTIONS = """
run walk jump leap climb swim go come move travel drive ride fly jog race skate ski slide hop crawl
dive step hike sprint trot dash rush
bound gallop wade march skateboard snowboard bike roll stroll
"""

# What the object of a contrary must be.
OF_BEINGS = "lead ignore follow chase feed hug kiss"
OF_THINGS = "drop throw catch carry repair spill lift lower remove kick bite"
OF_VEHICLES = "repair"
OF_CLOTHES = "remove"
OF_INSTRUMENTS = "carry"
# Those that anyone may do, whatever their sport or trade.
ROLE_VERBS = """
wear hold sit stand look watch smile pose carry point wave talk drink eat kneel lie lay rest lean
"""
# Those of which people alone are said.
OF_PEOPLE = """
wear remove hold read write ride drive cook paint smoke sing talk skateboard snowboard ski surf bike
drink take make do perform pose sit use
throw kick hit kneel look point work fish dance shop row paddle
"""
# Those that no thing does.
OF_BEINGS_ALONE = """
walk run jog hike jump leap swim wade dive crawl climb skate ski surf skateboard snowboard ride push
pull drag throw toss catch kick hit chase follow hug kiss tackle wrestle fight wear remove eat drink
cook sniff lick bite chew read write paint play watch look stare talk shout sing dance laugh smile
cry build lift pose perform attempt try prepare practice wait work feed pet brush graze reach use
dig speak listen explore enjoy celebrate examine inspect observe help greet check fetch retrieve
"""
# the arguments of these may be any two beings, whichever way round
BETWEEN_BEINGS = """
chase follow watch ignore lead attack approach bump look stare run walk jump leap
stand sit lie swim sniff
"""
# these with a preposition alone: who walks a dog is not walked by it
BETWEEN_WITH_PREPOSITION = "look stare run walk jump leap stand sit lie swim bark point"
# prey neither hunts nor leads
BETWEEN_HUNTERS = "chase lead attack"
BETWEEN_LIKE = """
hold carry lift hit kick help photograph pull throw pet feed tickle teach tackle greet
spray splash drag paint
examine admire grab assist block shake yell wave smile bite lick push climb lean kneel crouch race
bark point
jog sprint trot
"""
SWAPPED_PREPOSITIONS = """
behind in_front_of above below past after over under towards toward at from to on_top_of beneath
underneath away_from
"""

# Contraries that are not found word by word.
CONTRARY_PHRASES = {
    "looking at": "looking away from",
    "looking out": "looking away from",
    "staring at": "looking away from",
    "facing": "facing away from",
    "covered in": "free of",
    "covered with": "free of",
    "covered by": "free of",
    "filled with": "empty of",
    "full of": "empty of",
    "surrounded by": "far from",
    "attached to": "detached from",
    "tied to": "untied from",
    "parked on": "driving on",
    "parked in": "driving in",
    "parked next to": "driving past",
}

# a preposition, then its contrary
CONTRARY_PREPOSITIONS = """
on under ; on_top_of under ; atop under ; upon under ; onto off ; under on ; underneath on
beneath on ; above below ; below above
over under ; in_front_of behind ; behind in_front_of ; in outside_of ; inside outside
inside_of outside_of ; outside inside
outside_of inside ; within outside ; into out_of ; out_of into ; up down ; down up ; off onto
off_of onto ; toward away_from
towards away_from ; away_from towards ; near far_from ; nearby far_from
next_to far_from ; beside far_from
by far_from ; close_to far_from
alongside far_from ; at away_from ; through past ; across away_from ; along away_from
around away_from ; to from ; from to
with without ; without with ; among away_from ; past towards ; against away_from
"""

PREPOSITION_PHRASES = """
in_front_of ; on_top_of ; in_back_of ; on_each_side_of ; on_both_sides_of ; in_the_midst_of
in_middle_of ; on_side_of ; on_edge_of ; on_the_sides_of ; to_the_side_of
on_the_left_of ; on_the_right_of ; in_the_center_of ; at_the_base_of ; at_the_foot_of
in_the_corner_of ; in_the_middle_of ; in_the_back_of ; at_the_edge_of ; on_the_edge_of
on_the_side_of
on_the_back_of ; at_the_top_of ; at_the_bottom_of ; on_the_other_side_of ; at_the_end_of
by_the_side_of ; on_either_side_of ; in_between
next_to ; close_to ; far_from ; away_from ; across_from ; outside_of ; inside_of ; out_of ; off_of
along_side_of ; along_side
along_with ; on_to ; up_to ; up_against
"""

# Swapping the arguments of these leaves the meaning as it is.
SYMMETRIC_PREPOSITIONS = """
with without near nearby beside by and alongside against among between next_to close_to far_from
across_from opposite
"""
SYMMETRIC_VERBS = (
    "hug embrace cuddle kiss wrestle fight meet touch face race dance talk play chat compete"
)
