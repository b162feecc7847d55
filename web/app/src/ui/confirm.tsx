// The dialog before an action that is hard to undo.
import type { ReactNode } from 'react';
import { Dialog, useLeave, type FocusTarget } from './dialog.tsx';
import { Actions, Form, type FormState } from './forms.tsx';

interface ConfirmProps {
  title: string;
  verb: string;
  submission: FormState;
  onConfirm: () => void;
  onClose: () => void;
  returnTo?: FocusTarget;
  // obstacle says why the action is known to be refused, and what to do first.
  obstacle?: string | undefined;
  children: ReactNode;
}

// Confirm asks before an action that is hard to undo. Focus starts on Cancel. Errors are shown in
// the dialog, which stays open. With an obstacle, it says that instead of offering the action.
export function Confirm({ title, verb, submission, onConfirm, onClose, returnTo, obstacle, children }: ConfirmProps) {
  if (obstacle) {
    return (
      <Dialog title={title} onClose={onClose} returnTo={returnTo}>
        <Obstacle text={obstacle} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} returnTo={returnTo}>
      <Form onSubmit={onConfirm} submission={submission} actions={<Actions submission={submission} verb={verb} danger />}>
        {children}
      </Form>
    </Dialog>
  );
}

function Obstacle({ text }: { text: string }) {
  const leave = useLeave();
  return (
    <div className="dialog-text">
      <p>{text}</p>
      <div className="dialog-actions">
        <button type="button" className="button" data-autofocus onClick={leave}>
          OK
        </button>
      </div>
    </div>
  );
}
