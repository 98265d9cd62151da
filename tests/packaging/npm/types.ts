// Compiles only if the package has its types.
import { connect, type Game } from "perigee-client";

export async function play(address: string): Promise<unknown> {
  const game: Game = await connect(address, { name: "ann" });
  return game.ask("double", 21);
}
