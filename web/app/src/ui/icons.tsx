import type { ReactNode } from 'react';
import type { LibraryVisibility } from '../generated/operations.ts';

// Icons in the colour of the text. Screen readers skip them, because the text next to them says
// the same.
function Icon({ children }: { children: ReactNode }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor"
      strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const Close = () => (
  <Icon>
    <path d="M4 4l8 8M12 4l-8 8" />
  </Icon>
);
export const Plus = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);
export const Back = () => (
  <Icon>
    <path d="M10 3L5 8l5 5" />
  </Icon>
);
export const Outward = () => (
  <Icon>
    <path d="M6 3.5H3.5v9h9V10M9 3h4v4M13 3L7.5 8.5" />
  </Icon>
);
export const Search = () => (
  <Icon>
    <circle cx="7" cy="7" r="4" />
    <path d="M10 10l3.5 3.5" />
  </Icon>
);
export const Up = () => (
  <Icon>
    <path d="M8 13V3M4 7l4-4 4 4" />
  </Icon>
);
export const Down = () => (
  <Icon>
    <path d="M8 3v10M4 9l4 4 4-4" />
  </Icon>
);
export const Rows = () => (
  <Icon>
    <path d="M2.5 4h11M2.5 8h11M2.5 12h11" />
  </Icon>
);

const visibilityDrawings = {
  PUBLIC: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M2.5 8h11M8 2.5c2 1.6 2.6 3.4 2.6 5.5S10 11.9 8 13.5C6 11.9 5.4 10.1 5.4 8S6 4.1 8 2.5" />
    </>
  ),
  LOGGEDIN: (
    <>
      <circle cx="8" cy="5.5" r="2.5" />
      <path d="M3 13.5c.4-2.8 2.3-4.3 5-4.3s4.6 1.5 5 4.3" />
    </>
  ),
  PRIVATE: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1" />
      <path d="M5.5 7V5a2.5 2.5 0 015 0v2" />
    </>
  ),
};
export const VisibilityIcon = ({ of }: { of: LibraryVisibility }) => <Icon>{visibilityDrawings[of]}</Icon>;

export type Theme = 'system' | 'light' | 'dark';

const themeDrawings = {
  system: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11a5.5 5.5 0 000-11z" fill="currentColor" />
    </>
  ),
  light: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1" />
    </>
  ),
  dark: <path d="M13 9.7A5.5 5.5 0 016.3 3a5.5 5.5 0 106.7 6.7z" />,
};
export const ThemeIcon = ({ of }: { of: Theme }) => <Icon>{themeDrawings[of]}</Icon>;
