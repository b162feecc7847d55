import { createRoot } from 'react-dom/client';
import './style/ground.css';
import './style/parts.css';
import './style/avatars.css';
import './style/pages.css';
import { App } from './app.jsx';
import { NavigationProvider } from './ui/navigation.jsx';
import { NoticesProvider } from './ui/notices.jsx';
import { SessionProvider } from './ui/session.jsx';

createRoot(document.getElementById('root')).render(
  <NavigationProvider>
    <NoticesProvider>
      <SessionProvider>
        <App />
      </SessionProvider>
    </NoticesProvider>
  </NavigationProvider>,
);
