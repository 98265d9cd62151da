// Plays with the game of this folder, through the installed package.
import { connect } from "perigee-client";

const game = await connect(process.argv[2], { name: "ann" });
console.log(`double 21 is ${await game.ask("double", 21)}`);
game.close();
