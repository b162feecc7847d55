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

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(
  <NavigationProvider>
    <NoticesProvider>
      <SessionProvider>
        <App />
      </SessionProvider>
    </NoticesProvider>
  </NavigationProvider>,
);
