"""How close a model finds texts that merely come from the same conversation: what its cosines are measured from."""

from itertools import combinations

from recallmesh.core.arm import Vector

HIGH = 0.99

TURNS = (
    "Hey Anna! Good to see you, it has been a while. How have you been?",
    "Hi Tom! Busy, but good. I finally signed up for that pottery class I told you about.",
    "That sounds great, Anna! I have been trying to get back into running myself.",
    "Nice one! Are you training for anything, or is it just to clear your head?",
    "A bit of both. My brother wants us to do the half marathon together in spring.",
    "Wow, good luck with that! My knees would never forgive me.",
    "Haha, mine complain as well. By the way, did you hear back about the job?",
    "Yes! They offered me the position last week, and I start in two weeks.",
    "Congratulations, you must be so proud! You really worked hard for it.",
    "Thanks, Tom! That means a lot. I could not have done it without my friends.",
    "We should celebrate. Do you still like that little Italian place by the river?",
    "Of course, their mushroom risotto is my favourite thing in the whole town.",
    "Let's go on Friday then. I will bring the photos from our trip to the mountains.",
    "I'd love to see them! Was the weather kind to you up there?",
    "It rained for two days, but the sunrise on the last morning made up for everything.",
    "I can imagine. Nature always helps me to calm down when things get too much.",
    "Same here. Oh, and we adopted a puppy! His name is Biscuit and he eats shoes.",
    "No way, that is adorable! My kids have been begging me for a dog for years.",
    "You should bring them over, he loves children. How is school going for them?",
    "Pretty well. Lena painted a mural with her class, and Max is learning the trumpet.",
    "A trumpet? Your poor neighbours! What made him choose that?",
    "He heard a jazz band at the summer festival and could not stop talking about it.",
    "Music is a wonderful outlet. I still play the guitar sometimes in the evening.",
    "I remember your concert at the café, it was so much fun. Are you writing new songs?",
    "Slowly. I have been reading a lot instead, mostly novels about families and the sea.",
    "Any recommendations? I need something for the long train ride to my parents.",
    "I will lend you one, it made me think about what really matters in life.",
    "Thank you, that's so kind. My father has been ill, so I visit them more often now.",
    "I'm sorry to hear that, Anna. If there is anything I can do, just let me know.",
    "It helps to talk about it. The doctors say that he is getting better every week.",
    "That is a relief. Take care of yourself as well, it's important to rest.",
    "I try to. I started to meditate before breakfast, and it makes a real difference.",
    "I should do that too. Work has been stressful since we lost our biggest customer.",
    "Oh no, that sounds tough. What are you planning to do about it?",
    "We are thinking of opening an online shop for the furniture that we make.",
    "What a cool idea! I could help you with the pictures, I bought a new camera.",
    "Would you? That would be amazing, yours always look so professional.",
    "Happy to help! I also volunteer at the shelter on Sundays, so Saturday is best.",
    "Saturday works for me. It's inspiring how much you do for other people.",
    "Thanks! It makes me happy to give something back. See you on Friday, Tom!",
)
"""A conversation as people have it: one register, recurring names, a new subject every other turn."""

SAMPLE = tuple(f"{early} {late}" for early, late in zip(TURNS[:20], TURNS[20:], strict=True))
"""Texts as unrelated as memories of one bank. With bge-small they have a mean of 0.66 and a 99th percentile of 0.80;
turns of long real conversations 0.67 and 0.81; sentences from everywhere only 0.42 and 0.57."""


def background(vectors: tuple[Vector, ...]) -> tuple[float, float]:
    """Return the mean and the 99th percentile of the cosines among unit vectors of such texts."""
    cosines = sorted(sum(a * b for a, b in zip(one, other, strict=True)) for one, other in combinations(vectors, 2))
    return sum(cosines) / len(cosines), cosines[int(HIGH * (len(cosines) - 1))]
