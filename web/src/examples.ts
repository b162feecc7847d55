// The examples by task, and the first tabs.
import { find } from './examples/find.ts';
import { follow } from './examples/follow.ts';
import { leases } from './examples/leases.ts';
import { notes } from './examples/notes.ts';
import { page } from './examples/page.ts';
import { pastes } from './examples/pastes.ts';
import { share } from './examples/share.ts';
import { nameOf, type Example, type Task } from './examples/task.ts';

export const tasks: Task[] = [find, page, share, follow, notes, leases, pastes];

export const examples: Example[] = tasks.flatMap((task) => task.examples);

// Open at the first visit. The others are in the panel of examples.
const first = ['LibraryPage', 'NextPage', 'Share', 'Update', 'Remove', 'LibraryChanged', 'WhoSeesWhat'];

export const exampleTabs = first.flatMap((name) => examples.filter((example) => nameOf(example) === name));

// GraphiQL fills the variables editor of the first tab from initialVariables only, and from
// what it has stored if the page was open before.
export const firstVariables = exampleTabs[0]?.variables;
