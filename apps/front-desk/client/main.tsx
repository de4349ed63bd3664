import './older.ts';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { startSession } from './session/session.ts';

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(<App />);
  void startSession();
}
