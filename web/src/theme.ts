// Light and dark: as the system says, unless the user has chosen.
import { useEffect, useState } from 'preact/hooks';

const key = 'lichen-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

function chosen(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage may be switched off
  }
}

const present = (): string => chosen() ?? (system.matches ? 'dark' : 'light');

export function useTheme(): [string, () => void] {
  const [theme, setTheme] = useState(present);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  useEffect(() => {
    const f = (): void => setTheme(present());
    system.addEventListener('change', f);
    return () => system.removeEventListener('change', f);
  }, []);
  const flip = (): void => {
    const next = theme === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem(key, next);
    } catch {
      // it holds for this page only
    }
    setTheme(next);
  };
  return [theme, flip];
}
