// Tests the reference client in a real browser. Each scene is a test: users read in both
// directions, share and edit items, and resolve edit conflicts, also by keyboard, on a phone and
// without a network. Exits with 1 and a message if anything fails, including a violation of the
// page's content security policy and a request to another origin. The gateway must serve the demo
// data, which the scenes change.
//
//   BASE_URL=http://127.0.0.1:8080 NEWCOMER=TOKEN [PART=1/3] node e2e/app.mjs [SCENE...]
//
// NEWCOMER is a token of u:demo:newcomer, who is not in the demo data. PART=1/3 plays every third
// scene, beginning with the first one, so that three of these programs can play all at once. Each
// needs a gateway of its own.
import { baseAddress, start } from './browser.mjs';
import { openFixture } from './app/fixture.mjs';
import { closedWhileSaving, otherOrganisations, sharedAgain, twoChoices } from './app/access.mjs';
import { accessible, accessibleDialogs, accessibleGraphiql } from './app/accessible.mjs';
import { branches, branchFaults, languages } from './app/branches.mjs';
import { groupReadLate } from './app/creating.mjs';
import { copyLink, openByUrl } from './app/links.mjs';
import { addedAgain, find, groups, largeGroup, otherOrganisation, rejectedSocket, rejectedToken, removedMember,
  signingInAndOut } from './app/people.mjs';
import { avatars, compactView, dayHeadings, expiry, firstItemAbove, fullWidth, graphiqlLink, jumpToNewest, markdown,
  newItem, profilePage, shortcutKeys, strangeTitles } from './app/looks.mjs';
import { lostCreation, lostShare } from './app/lost.mjs';
import { newcomer } from './app/newcomer.mjs';
import { drafts, history, hugeNote, noteTexts, renamedNote, suggestions, textConflict } from './app/notes.mjs';
import { newestItems, pasteConflict, pasteFaults, pasteMarkup, pastesArrive, pastesOnPhone, secretBeforeSignIn,
  visitorPaste } from './app/pastes.mjs';
import { editConflicts, lateAnswers, mergedEdits } from './app/conflicts.mjs';
import { errorMessages, keyboard, longNotice, pagingBothWays, phone, storeDown } from './app/reading.mjs';
import { freshGroup, freshPaste, freshRows, itemByItself, staleMembers } from './app/fresh.mjs';
import { namedForWhom, reducedRole } from './app/roles.mjs';
import { silentGateway } from './app/silent.mjs';
import { overtakenSuggestion, suggestionForAnotherBranch, suggestionsOfBranches } from './app/suggesting.mjs';
import { decidedSuggestions, overtakenVersion, historyReadAgain, overtakenBranch } from './app/decisions.mjs';
import { draftAmongMany, draftInTwoWindows, savedBeforeLoss, expiredInEditor, failedDiscard, focusAfterDraft } from './app/drafts.mjs';
import { expiredInDialogs, expiredInLanguage } from './app/expired.mjs';
import { focusAfterBack, focusAfterSecret } from './app/focus.mjs';
import { deletedAccount, deletedGroup } from './app/deletion.mjs';
import { findItems, searchAgain, searching, searchLive, searchProgress, searchRows } from './app/searching.mjs';
import { deletedItemLeavesLists, itemLifecycle, latePage, lostConnection, newEntries, olderAnswer, shareSuggestions,
  undoneRemoval, whoSees } from './app/sharing.mjs';
import { keptOrder, titleOrder } from './app/titles.mjs';
import { discardedEdits, expiredToken, itemForGroup, keptAfterFailure, lostEditorRole, lostWhileWriting, offline, removedFromGroup,
  signedInAgain, smallScreen, textKeptAfterDeletion } from './app/unsaved.mjs';

const scenes = { pagingBothWays, fullWidth, jumpToNewest, compactView, dayHeadings, avatars, markdown, shortcutKeys, graphiqlLink,
  profilePage, expiry, keyboard, focusAfterBack, focusAfterSecret, phone, longNotice, errorMessages, storeDown, find, signingInAndOut,
  newcomer, rejectedToken, rejectedSocket, groups, largeGroup, addedAgain, removedMember, otherOrganisation, itemLifecycle, mergedEdits,
  editConflicts, lateAnswers, discardedEdits, textKeptAfterDeletion, removedFromGroup, lostEditorRole, lostWhileWriting, expiredToken,
  signedInAgain, offline, keptAfterFailure, itemForGroup, smallScreen, shareSuggestions, newEntries, latePage, olderAnswer,
  deletedItemLeavesLists, lostConnection, silentGateway, itemByItself, freshRows, staleMembers, freshGroup, freshPaste, noteTexts,
  renamedNote, hugeNote, drafts, draftInTwoWindows, expiredInEditor, expiredInLanguage, expiredInDialogs, savedBeforeLoss, textConflict,
  history, overtakenVersion, suggestions, decidedSuggestions, branches, branchFaults, languages, copyLink, openByUrl, visitorPaste,
  secretBeforeSignIn, overtakenSuggestion, suggestionForAnotherBranch, suggestionsOfBranches, draftAmongMany, pastesArrive,
  pasteConflict, pasteMarkup, pasteFaults, pastesOnPhone, newestItems, searching, searchProgress, searchAgain, searchLive,
  searchRows, deletedGroup, deletedAccount, whoSees, undoneRemoval, otherOrganisations, sharedAgain, twoChoices, closedWhileSaving,
  findItems, firstItemAbove, titleOrder, keptOrder, newItem, historyReadAgain, failedDiscard, overtakenBranch, focusAfterDraft,
  strangeTitles, groupReadLate, lostShare, lostCreation, reducedRole, namedForWhom, accessible, accessibleDialogs, accessibleGraphiql };
const base = baseAddress();
const named = process.argv.slice(2);
const [part, parts] = (process.env.PART ?? '1/1').split('/').map(Number);
const chosen = Object.entries(scenes).filter(([name], at) => (named.length === 0 || named.includes(name)) && at % parts === part - 1);
if (chosen.length === 0) {
  console.error(`no scene is chosen (PART: ${process.env.PART ?? 'all'}, names: ${named.join(' ') || 'all'})`);
  process.exit(2);
}
const browser = await start();
const fixture = { ...(await openFixture(browser, base)), base };

const failures = [];
for (const [name, scene] of chosen) {
  const began = performance.now();
  fixture.faults.length = 0;
  try {
    await scene(fixture);
    if (fixture.faults.length > 0) throw new Error(`the page had errors:\n${fixture.faults.join('\n')}`);
    console.log(`${name}: passed in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  } catch (fault) {
    const errors = fixture.faults.length > 0 ? `\nthe page had errors:\n${fixture.faults.join('\n')}` : '';
    failures.push(`${name}: ${fault.message ?? fault}${errors}`);
    console.error(failures.at(-1));
    for (const page of browser.contexts().flatMap((context) => context.pages())) console.error(await shownBy(page));
    await Promise.all(browser.contexts().map((context) => context.close()));
  }
}
await browser.close();

// A report of a failed run often has its last lines only, so they name what failed.
if (failures.length > 0) console.error(`${failures.length} scenes failed:\n${failures.join('\n')}`);
process.exit(failures.length > 0 ? 1 : 0);

// shownBy returns the address of a page and the first words that it, or its open dialog, shows.
async function shownBy(page) {
  const text = await page.locator('dialog[open], body').last().innerText({ timeout: 5000 }).catch((fault) => fault.message);
  return `${page.url()} shows:\n${text.slice(0, 2000)}\n`;
}
