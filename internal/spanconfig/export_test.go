package spanconfig

// AllSplitsEvery is how often all splits are read.
const AllSplitsEvery = allSplitsEvery
