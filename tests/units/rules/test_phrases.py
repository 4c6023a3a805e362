"""Phrases and the relations between them, on worked captions."""

import pytest

from zoo.language.textblob_tagger import TextBlobTagger
from zoo.units.rules.clauses.triples import triples
from zoo.units.rules.phrases.grouping import phrases

TAGGER = TextBlobTagger()


def shown(caption: str) -> str:
    return " ".join(
        f"{p.kind[0]}:{p.text.replace(' ', '_')}"
        for p in phrases(TAGGER.analyse(caption))
        if p.words
    )


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        (
            "A man in a blue shirt is standing on a ladder .",
            "n:man p:in n:blue_shirt v:standing p:on n:ladder",
        ),
        (
            "A girl in a dress jumps over the dog's tail",
            "n:girl p:in n:dress v:jumping p:over n:tail",
        ),
        ("A black and white dog sleeps .", "n:black_and_white_dog v:sleeping"),
        (
            "Three parked cars on a snow covered hill",
            "n:three_parked_cars p:on n:snow_covered_hill",
        ),
        (
            "A group of people sit in front of a house",
            "n:group_of_people v:sitting p:in_front_of n:house",
        ),
        ("a picture of a cat with folded arms", "n:cat p:with n:folded_arms"),
        ("A boy skating down a rail", "n:boy v:skating p:down n:rail"),
        (
            "A girl has a toy and tries to catch a ball .",
            "n:girl v:with n:toy j:and v:trying_to_catch n:ball",
        ),
        ("A street with no cars", "n:street p:with"),
        ("A line of waiting cars", "n:line_of_waiting_cars"),
        ("A man in a shirt and dress pants", "n:man p:in n:shirt j:and n:dress_pants"),
        ("Two men making hand gestures", "n:two_men v:making n:hand_gestures"),
        (
            "A woman wearing a white coat skis down a hill",
            "n:woman v:wearing n:white_coat v:skiing p:down n:hill",
        ),
        ("A biker speeds down a path", "n:biker v:speeding p:down n:path"),
        ("A girl sitting on a playground ride .", "n:girl v:sitting p:on n:playground_ride"),
        ("Men each wearing jackets", "n:men v:wearing n:jackets"),
        ("Two people rock climbing near a lake", "n:two_people v:climbing p:near n:lake"),
        ("Two snowboarders jump .", "n:two_snowboarders v:jumping"),
        ("Four boys mug for the camera", "n:four_boys v:mugging p:for n:camera"),
        ("Two kids in blue wetsuits surf .", "n:two_kids p:in n:blue_wetsuits v:surfing"),
        (
            "A girl wearing pink dances on the sidewalk",
            "n:girl v:wearing v:dancing p:on n:sidewalk",
        ),
        ("A dog runs and someone watches", "n:dog v:running j:and n:person v:watching"),
        ("A man sits and watches people", "n:man v:sitting j:and v:watching n:people"),
        ("Two girls hold hands and smile .", "n:two_girls v:holding n:hands j:and v:smiling"),
        ("A child looks at leaves", "n:child v:looking p:at n:leaves"),
        ("People dressed in karate outfits", "n:people v:dressed p:in n:karate_outfits"),
        ("A dog pulls a red sled in the snow", "n:dog v:pulling n:red_sled p:in n:snow"),
        ("A man drinks a green liquid from a cup", "n:man v:drinking n:green_liquid p:from n:cup"),
        ("A man in a shirt and matching helmet", "n:man p:in n:shirt j:and n:matching_helmet"),
        ("A dog carrying a frisbee like object", "n:dog v:carrying n:frisbee_like_object"),
        (
            "Three boys near a volleyball net at the beach",
            "n:three_boys p:near n:volleyball_net p:at n:beach",
        ),
        ("A girl hangs on a swing set", "n:girl v:hanging p:on n:swing_set"),
        (
            "People sit on the cement steps in the woods",
            "n:people v:sitting p:on n:cement_steps p:in n:woods",
        ),
        ("A plate put upside down on a table", "n:plate v:put p:on n:table"),
        ("A man in a button up shirt", "n:man p:in n:button-up_shirt"),
        ("A girl in a polka dotted top", "n:girl p:in n:polka_dotted_top"),
        ("A boy using modified skis", "n:boy v:using n:modified_skis"),
        ("A man holding a while frisbee", "n:man v:holding n:while_frisbee"),
        ("A hooded , long sleeved top", "n:hooded_long_sleeved_top"),
        ("Cooked broccoli sits in milk", "n:cooked_broccoli v:sitting p:in n:milk"),
        ("A dog and 2 black poodles", "n:dog j:and n:2_black_poodles"),
        ("Two dogs are waiting to be fed", "n:two_dogs v:waiting_to_be_fed"),
        ("Two men ice skating", "n:two_men v:skating"),
        ("A cat with a toy in it's mouth", "n:cat p:with n:toy p:in n:mouth"),
        ("A boy in swimming trunks", "n:boy p:in n:swimming_trunks"),
        ("Teenagers drink sodas", "n:teenagers v:drinking n:sodas"),
        ("A goat , drinking water", "n:goat j:, v:drinking n:water"),
        ("A farmer examines produce", "n:farmer v:examining n:produce"),
        ("A very close bird", "n:close_bird"),
        ("A wood and glass table", "n:wood_and_glass_table"),
        ("A boy gets some help", "n:boy v:getting n:help"),
        ("Two girls dig in to a cake", "n:two_girls v:digging p:in_to n:cake"),
        ("A man types on a keyboard", "n:man v:typing p:on n:keyboard"),
        ("The bread is ready to be eaten", "n:bread v:ready_to_be_eaten"),
        ("A city break dancer starts", "n:city_break_dancer v:starting"),
        ("A ship is about to sink", "n:ship v:about_to_sink"),
        ("A girl holds another object", "n:girl v:holding n:object"),
        ("", ""),
        (" . , !", "j:,"),
    ],
)
def test_phrases_lose_determiners_and_auxiliaries_and_keep_modifiers(
    caption: str, expected: str
) -> None:
    assert shown(caption) == expected


def test_the_head_is_the_last_noun_or_compound_and_what_a_group_is_of() -> None:
    heads = [
        p.head_text
        for p in phrases(
            TAGGER.analyse("A group of young men ride a red fire truck near a field of flowers")
        )
        if p.kind == "noun"
    ]
    assert heads == ["men", "fire truck", "field"]


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A man rides a horse .", ["man riding horse"]),
        ("A man is sitting on a bench in a park", ["man sitting on bench", "man in park"]),
        ("A boy hits a ball with a bat", ["boy hitting ball", "boy with bat"]),
        (
            "A man is riding a bike on a street",
            ["man riding bike", "man on street", "bike on street"],
        ),
        (
            "A woman wearing a hat and sunglasses on a beach",
            ["woman wearing hat", "woman wearing sunglasses", "woman on beach"],
        ),
        ("A man and a woman sit on a couch", ["man sitting on couch", "woman sitting on couch"]),
        ("A man in a hat riding a horse", ["man in hat", "man riding horse"]),
        (
            "A man watching a dog running through snow",
            ["man watching dog", "dog running through snow"],
        ),
        (
            "A woman sits behind a man in a yellow shirt",
            ["woman sitting behind man", "man in yellow shirt"],
        ),
        ("A man riding a bike and a woman holding a dog", ["man riding bike", "woman holding dog"]),
        ("A field covered in snow", ["field covered in snow"]),
        ("A dog is held by a woman", ["dog held by woman"]),
        ("The kitten is not on the table", []),
        ("A kitten does not sit on a chair", []),
        ("A kitten doesn't sit on a chair", []),
        ("A street with no cars", []),
        ("A man throws a ball to a dog", ["man throwing ball", "man throwing to dog"]),
        ("A boy stands while his sister eats cake", ["sister eating cake"]),
        ("People in the snow", ["people in snow"]),
    ],
)
def test_relations_are_who_does_what_to_whom(caption: str, expected: list[str]) -> None:
    assert [
        f"{s.text} {p} {o.text}" for s, p, o in triples(phrases(TAGGER.analyse(caption)))
    ] == expected
