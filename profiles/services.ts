/**
 * Initial codes of LocalServiceType for outpatient services; an installation extends the CodeSystem or uses its own.
 */
export const services = {
  CT: 'Computed tomography',
  MR: 'Magnetic resonance imaging',
  US: 'Ultrasound examination',
  'general-consultation': 'General medical consultation',
  'surgical-consultation': 'Surgical consultation',
  'follow-up': 'Follow-up visit',
  vaccination: 'Vaccination',
  'blood-draw': 'Blood draw',
} as const;

/** The names of the demo clinic's services in German. */
export const germanServices: Readonly<Partial<Record<keyof typeof services, string>>> = {
  CT: 'Computertomographie',
  'general-consultation': 'Allgemeinmedizinische Sprechstunde',
  'surgical-consultation': 'Chirurgische Sprechstunde',
};

/** Codes of LocalSpecialty. */
export const specialties = {
  'general-medicine': 'General medicine',
  'internal-medicine': 'Internal medicine',
  surgery: 'Surgery',
  radiology: 'Radiology',
  gynaecology: 'Gynaecology',
  paediatrics: 'Paediatrics',
} as const;
