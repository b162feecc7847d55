// Monaco contains an old copy of DOMPurify, which has known vulnerabilities. vite.config.js replaces
// that copy by this module, which has the same exports and takes them from the current package.
import DOMPurify from 'dompurify';

export const { addHook, removeHook, sanitize } = DOMPurify;
