"""Export of models as SavedModels for TF Serving, and clients."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "client": ["GrpcClient", "RestClient"],
        "declared": ["read_metadata"],
        "familiarity": ["answer_familiarity"],
        "export": ["export_service", "next_version", "unservable_ops"],
        "function_service": ["FunctionService"],
        "generation_service": ["AnswerLength", "GenerationService"],
        "hub_service": ["hub_service"],
        "label_service": ["LabelService"],
        "precision": ["precision_of", "set_precision"],
        "sequence_service": ["sequence_service"],
        "service": ["Service"],
    },
)
