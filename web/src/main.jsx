import { createRoot } from 'react-dom/client';
import 'graphiql/style.css';
import './style.css';
import './workers.js';
import { App } from './app.jsx';

createRoot(document.getElementById('root')).render(<App />);
