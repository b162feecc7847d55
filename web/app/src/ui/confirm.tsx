// The dialog before an action that is hard to undo.
import type { ReactNode } from 'react';
import { Dialog, type FocusTarget } from './dialog.tsx';
import { Actions, Form, type FormState } from './forms.tsx';

interface ConfirmProps {
  title: string;
  verb: string;
  submission: FormState;
  onConfirm: () => void;
  onClose: () => void;
  returnTo?: FocusTarget;
  children: ReactNode;
}

// Confirm asks before an action that is hard to undo. Focus starts on Cancel. Errors are shown in
// the dialog, which stays open.
export function Confirm({ title, verb, submission, onConfirm, onClose, returnTo, children }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose} returnTo={returnTo}>
      <Form onSubmit={onConfirm} submission={submission} actions={<Actions submission={submission} verb={verb} danger />}>
        {children}
      </Form>
    </Dialog>
  );
}
