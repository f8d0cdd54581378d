package dvdrental

var (
	firstNames = []string{"Ada", "Amir", "Anna", "Bela", "Carla", "Chen", "Dora", "Emil", "Eva", "Farid", "Greta", "Hana", "Ivan",
		"Jonas", "Kira", "Leo", "Lina", "Mara", "Miro", "Nadia", "Noah", "Olga", "Paul", "Rosa", "Samir", "Tara", "Uwe", "Vera", "Yuki", "Zoe"}
	lastNames = []string{"Adler", "Baker", "Costa", "Diaz", "Eriksen", "Fischer", "Garcia", "Haas", "Ito", "Jensen", "Khan", "Lopez",
		"Meyer", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Silva", "Tanaka", "Ueda", "Varga", "Weber", "Xu", "Young", "Zimmer"}
	places = []string{"Ashford", "Birchwood", "Clearwater", "Dunmore", "Eastbrook", "Fairview", "Greenfield", "Hillcrest", "Ironbridge",
		"Kingsport", "Lakeside", "Millbrook", "Northgate", "Oakdale", "Riverton", "Stonehill", "Thornbury", "Westfield"}
	adjectives = []string{"Amber", "Broken", "Crimson", "Distant", "Electric", "Forgotten", "Golden", "Hidden", "Icy", "Jaded",
		"Last", "Midnight", "Northern", "Pale", "Quiet", "Restless", "Silver", "Twisted", "Velvet", "Wild"}
	nouns = []string{"Anchor", "Bridge", "Castle", "Dancer", "Empire", "Forest", "Garden", "Harbor", "Island", "Journey", "Keeper",
		"Lantern", "Mirror", "Orchard", "Pilot", "River", "Stranger", "Temple", "Voyage", "Winter"}
	categories = []string{"Action", "Animation", "Children", "Classics", "Comedy", "Documentary", "Drama", "Family", "Foreign",
		"Games", "Horror", "Music", "New", "Sci-Fi", "Sports", "Travel"}
	languages = []string{"English", "Italian", "Japanese", "Mandarin", "French", "German"}
	countries = []string{"Argentina", "Australia", "Austria", "Belgium", "Brazil", "Canada", "Chile", "China", "Denmark", "Egypt",
		"Finland", "France", "Germany", "Greece", "India", "Indonesia", "Italy", "Japan", "Kenya", "Mexico", "Morocco", "Nepal",
		"Netherlands", "Nigeria", "Norway", "Peru", "Poland", "Portugal", "South Africa", "South Korea", "Spain", "Sweden",
		"Switzerland", "Turkey", "United Kingdom", "United States", "Vietnam"}
)
