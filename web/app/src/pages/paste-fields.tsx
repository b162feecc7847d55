// The fields that the forms for creating and editing a paste share.
import type { ChangeEvent } from 'react';
import { bytesOf, longestBody } from '../data/pastes.ts';
import type { Faults } from '../data/faults.ts';
import { Choice, TextField } from '../ui/forms.tsx';

export type PasteField = 'title' | 'body' | 'isPrivate' | 'expiresAt' | 'secret';

export interface PasteText {
  title: string;
  body: string;
  isPrivate: boolean;
}

interface PasteFieldsProps {
  text: PasteText;
  faults: Faults<PasteField>;
  onChange: (text: PasteText) => void;
  autoFocus?: boolean;
}

export function PasteFields({ text, faults, onChange, autoFocus = false }: PasteFieldsProps) {
  const edit = (name: 'title' | 'body') => (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    onChange({ ...text, [name]: event.target.value });
  return (
    <>
      <TextField label="Title" hint="Optional. A file name, such as main.go, also selects the syntax highlighting."
        value={text.title} onChange={edit('title')} faults={faults.title} />
      <div className="paste-body">
        <TextField label="Text" rows={14} spellCheck={false} autoCapitalize="none" value={text.body}
          onChange={edit('body')} faults={faults.body} autoFocus={autoFocus} />
      </div>
      <Choice
        label="Visibility"
        name="visibility"
        value={text.isPrivate ? 'private' : 'public'}
        onChange={(value) => onChange({ ...text, isPrivate: value === 'private' })}
        options={[
          { value: 'public', label: 'Public', meaning: 'Everyone can find it in the list of pastes.' },
          { value: 'private', label: 'Unlisted', meaning: 'It is in no list. Only people who have its link can open it.' },
        ]}
        faults={faults.isPrivate}
      />
    </>
  );
}

// bodyFaults checks a text before it is sent. It returns its errors, or undefined.
export function bodyFaults(body: string): string[] | undefined {
  if (body === '') return ['Enter the text of the paste.'];
  const bytes = bytesOf(body);
  return bytes > longestBody ? [`A paste has at most 512 KiB. This text has ${Math.ceil(bytes / 1024)} KiB.`] : undefined;
}
