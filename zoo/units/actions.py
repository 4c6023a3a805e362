"""Word lists of the rule-based extractor: verbs and prepositions with their contraries. Our own, made for captions of everyday photographs.

`;` separates sets, `_` stands for a space.
"""

# base, third person, -ing, past
VERBS = """
sit sits sitting sat ; stand stands standing stood ; lie lies lying lay ; kneel kneels kneeling knelt ; crouch crouches crouching crouched
squat squats squatting squatted ; lean leans leaning leaned ; sleep sleeps sleeping slept ; rest rests resting rested
lay lays laying laid ; walk walks walking walked ; run runs running ran ; jog jogs jogging jogged ; jump jumps jumping jumped
leap leaps leaping leapt ; hop hops hopping hopped ; swim swims swimming swam ; wade wades wading waded ; float floats floating floated
dive dives diving dived ; crawl crawls crawling crawled ; climb climbs climbing climbed ; fall falls falling fell
slide slides sliding slid ; roll rolls rolling rolled ; skate skates skating skated ; ski skis skiing skied ; surf surfs surfing surfed
fly flies flying flew ; land lands landing landed ; ride rides riding rode ; push pushes pushing pushed ; pull pulls pulling pulled
drag drags dragging dragged ; drive drives driving drove ; park parks parking parked ; repair repairs repairing repaired
wash washes washing washed ; hold holds holding held ; carry carries carrying carried ; drop drops dropping dropped
throw throws throwing threw ; toss tosses tossing tossed ; catch catches catching caught ; kick kicks kicking kicked
hit hits hitting hit ; chase chases chasing chased ; follow follows following followed ; lead leads leading led ; hug hugs hugging hugged
kiss kisses kissing kissed ; tackle tackles tackling tackled ; wrestle wrestles wrestling wrestled ; fight fights fighting fought
wear wears wearing wore ; remove removes removing removed ; eat eats eating ate ; drink drinks drinking drank ; cook cooks cooking cooked
cut cuts cutting cut ; sniff sniffs sniffing sniffed ; lick licks licking licked ; bite bites biting bit ; chew chews chewing chewed
read reads reading read ; write writes writing wrote ; paint paints painting painted ; play plays playing played
watch watches watching watched ; look looks looking looked ; stare stares staring stared ; face faces facing faced
ignore ignores ignoring ignored ; point points pointing pointed ; talk talks talking talked ; shout shouts shouting shouted
whisper whispers whispering whispered ; sing sings singing sang ; dance dances dancing danced ; laugh laughs laughing laughed
smile smiles smiling smiled ; cry cries crying cried ; enter enters entering entered ; leave leaves leaving left
open opens opening opened ; close closes closing closed ; build builds building built ; destroy destroys destroying destroyed
fill fills filling filled ; empty empties emptying emptied ; lift lifts lifting lifted ; lower lowers lowering lowered
pose poses posing posed ; perform performs performing performed ; take takes taking took ; make makes making made ; do does doing did
get gets getting got ; go goes going went ; come comes coming came ; move moves moving moved ; travel travels traveling travelled
race races racing raced ; splash splashes splashing splashed ; shake shakes shaking shook ; swing swings swinging swung
hang hangs hanging hung ; cross crosses crossing crossed ; gather gathers gathering gathered ; wait waits waiting waited
work works working worked ; feed feeds feeding fed ; pet pets petting petted ; brush brushes brushing brushed
graze grazes grazing grazed ; reach reaches reaching reached ; attempt attempts attempting attempted ; balance balances balancing balanced
snowboard snowboards snowboarding snowboarded ; skateboard skateboards skateboarding skateboarded ; paddle paddles paddling paddled
row rows rowing rowed ; sail sails sailing sailed ; use uses using used ; show shows showing showed ; dig digs digging dug
bend bends bending bent ; spray sprays spraying sprayed ; touch touches touching touched ; wave waves waving waved
block blocks blocking blocked ; pass passes passing passed ; start starts starting started ; spill spills spilling spilled
meet meets meeting met ; chat chats chatting chatted ; compete competes competing competed ; stop stops stopping stopped
stick sticks sticking stuck ; put puts putting put ; have has having had ; see sees seeing saw ; turn turns turning turned
try tries trying tried ; prepare prepares preparing prepared ; practice practices practicing practiced ; serve serves serving served
return returns returning returned ; overlook overlooks overlooking overlooked
"""

# a verb, then its contraries, best first
CONTRARY_VERBS = """
sit stand lie jump ; stand lie kneel sit ; lie stand ; lay stand ; rest run ; sleep play ; kneel stand ; crouch stand ; squat stand
lean jump ; walk run crawl ; run walk sleep ; jog walk ; jump crawl sit ; leap crawl ; hop crawl ; swim float dive ; wade swim
float dive ; dive float ; crawl walk ; climb fall ; fall climb ; slide climb ; roll stand ; skate walk ; ski walk ; surf swim ; fly land
land fly ; ride push repair ; push pull ; pull push ; drag push ; drive wash ; park drive ; hold drop throw ; carry drop ; drop hold
throw catch ; toss catch ; catch throw ; kick catch ; hit catch ; chase ignore lead ; follow lead ; lead follow ; hug push ; kiss hit
tackle hug ; wrestle hug ; fight hug ; wear remove hold ; eat cook throw ; drink spill ; cut build ; sniff kick ; lick kick ; bite drop
chew drop ; read write ; play sleep watch ; watch ignore ; face ignore ; talk shout ; shout whisper ; sing dance ; dance sit
laugh cry ; smile cry ; cry smile ; enter leave ; leave enter ; open close ; close open ; build destroy ; fill empty ; lift lower
lower lift ; race walk ; splash stand ; hang fall ; cross leave ; wait run ; feed chase ; pet chase ; graze sleep ; paddle sit ; row sit
skateboard walk ; snowboard walk ; dig jump ; spray fill ; touch kick ; pass follow ; balance sit
gather leave ; perform watch
"""

# The first take no object, so they are no contrary of a verb that has one; the second need one.
INTRANSITIVE = "sleep stand sit lie kneel run crawl walk float swim jump fall stop cry smile shout whisper dance land"
TRANSITIVE = (
    "push repair wash hold drop throw hug remove spill build fill lift lower catch hit ignore"
)

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
on under ; on_top_of under ; atop under ; upon under ; onto off ; under on ; underneath on ; beneath on ; above below ; below above
over under ; in_front_of behind ; behind in_front_of ; in outside_of ; inside outside ; inside_of outside_of ; outside inside
outside_of inside ; within outside ; into out_of ; out_of into ; up down ; down up ; off onto ; off_of onto ; toward away_from
towards away_from ; away_from towards ; near far_from ; next_to far_from ; beside far_from ; by far_from ; close_to far_from
alongside far_from ; at away_from ; through around ; across along ; along across ; around away_from ; between outside ; to from ; from to
with without ; without with ; among away_from ; past towards ; against away_from
"""

PREPOSITION_PHRASES = """
in_front_of ; on_top_of ; in_back_of ; in_the_middle_of ; in_the_back_of ; at_the_edge_of ; on_the_edge_of ; on_the_side_of
on_the_back_of ; at_the_top_of ; at_the_bottom_of ; on_the_other_side_of ; at_the_end_of ; by_the_side_of ; on_either_side_of ; in_between
next_to ; close_to ; far_from ; away_from ; across_from ; outside_of ; inside_of ; out_of ; off_of ; along_side_of ; along_side
along_with ; on_to ; up_to ; up_against
"""

# Swapping the arguments of these leaves the meaning as it is.
SYMMETRIC_PREPOSITIONS = "with without near beside by and alongside against among between next_to close_to far_from across_from opposite"
SYMMETRIC_VERBS = "hug kiss wrestle fight meet touch face race dance talk play chat compete"
