import { createRoot } from 'react-dom/client';
import './style/ground.css';
import './style/parts.css';
import './style/avatars.css';
import './style/pages.css';
import './style/notes.css';
import './style/pastes.css';
import { App } from './app.tsx';
import { NavigationProvider } from './ui/navigation.tsx';
import { NoticesProvider } from './ui/notices.tsx';
import { SessionProvider } from './ui/session.tsx';
import { handOver, takeArrival } from './data/provider.ts';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
// Before the first page is shown: it is the one at which the sign-in was begun.
const arrival = takeArrival();
const isOfAnotherTab = arrival !== null && !arrival.attempt && (await handOver(arrival.answer));
createRoot(root).render(
  isOfAnotherTab ? (
    <main className="page">
      <h1>Signed in</h1>
      <p>Go back to the tab that you came from, and close this one.</p>
    </main>
  ) : (
    <NavigationProvider>
      <NoticesProvider>
        <SessionProvider arrival={arrival}>
          <App />
        </SessionProvider>
      </NoticesProvider>
    </NavigationProvider>
  ),
);
