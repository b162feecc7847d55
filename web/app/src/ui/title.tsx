// The title of an item or of a text, wherever it is shown.
import { plain } from '../data/plain.ts';

// Title is isolated, so that one from right to left does not move what is beside it, and has no characters that change the
// direction of text: "invoice exe.png" must not be what "invoice gnp.exe" looks like in a list.
export const Title = ({ of }: { of: string }) => <bdi>{plain(of)}</bdi>;
